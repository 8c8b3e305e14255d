"""Runs with several reward signals, first-party and local ones, through the Python door."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import agents_core
import numpy as np
import numpy.typing as npt
import pytest
import yaml
from agents_core.errors import UserError
from agents_core.training.run_options import RunResult
from safetensors.numpy import load_file

NOVELTY = '''
"""Pays for steps of an episode that were not taken often."""

import torch
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.options import RewardSignalConfig
from agents_core.plugin import RewardSignalSpec, hookimpl


class NoveltyConfig(RewardSignalConfig):
    """No options of its own."""


class Novelty(RewardSignal):
    def __init__(self, context):
        self.strength, self.gamma = context.config.strength, context.config.gamma
        self._counts = torch.zeros(64, dtype=torch.int64)

    def observe(self, batch):
        self._counts += torch.bincount(self._bins(batch), minlength=64)

    def evaluate(self, batch):
        return self._counts[self._bins(batch)].float().rsqrt()

    def _bins(self, batch):
        return batch["obs.0"][:, 2].long().clamp(max=63)

    def state_dict(self):
        return {"counts": self._counts.clone()}

    def load_state_dict(self, state):
        self._counts = torch.as_tensor(state["counts"]).clone()


@hookimpl
def agents_reward_signals():
    lazy = {"config": "novelty:NoveltyConfig", "factory": "novelty:Novelty"}
    return [RewardSignalSpec(name="novelty", summary="Counts", **lazy)]
'''
NETWORK = {"hidden_units": 8, "num_layers": 1, "normalize": True}
CURIOSITY = {"strength": 0.05, "network": NETWORK, "model_units": 16, "normalize": True}
RND = {"strength": {"schedule": "linear", "initial": 0.5}, "network": NETWORK, "features": 8}


def experiment(signals: dict[str, Any], max_steps: int = 1500, **parts: Any) -> dict[str, Any]:
    """Agents that come, go and act at different times, seen as numbers and as an image."""
    return {
        "plugins": ["agents_core.testing.plugin", "novelty.py"],
        "environment": {"type": "toy", "id": "ragged", "agents": 8, "image": True},
        "behaviors": {
            "*": {
                "max_steps": max_steps,
                "time_horizon": 16,
                "network": {"hidden_units": 16, "normalize": True, **parts.pop("network", {})},
                "trainer": {"type": "ppo", "batch_size": 64, "buffer_size": 256, "num_epoch": 3},
                "reward_signals": signals,
            }
        },
        "evaluation": {"interval": 1_000_000, "episodes": 2},
        "stats": {"jsonl": {}},
        **parts,
    }


def run(document: dict[str, Any], folder: Path, run_id: str, **options: Any) -> RunResult:
    (folder / "novelty.py").write_text(NOVELTY, encoding="utf-8")
    file = folder / f"{run_id}.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    return agents_core.train(file, results=folder / "results", run_id=run_id, **options)


def arrays(result: RunResult) -> dict[str, npt.NDArray[Any]]:
    """Every array of the last checkpoint, by its path in the states of policy and trainer."""
    folder = _behavior_folder(result)
    last = folder / (folder / "last").read_text(encoding="utf-8").strip()
    return {**load_file(last / "policy.safetensors"), **load_file(last / "trainer.safetensors")}


def _behavior_folder(result: RunResult) -> Path:
    (folder,) = [path for path in (result.directory / "checkpoints").iterdir() if path.is_dir()]
    return folder


def assert_equal_arrays(one: Mapping[str, npt.NDArray[Any]], other: Mapping[str, npt.NDArray[Any]]) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def last_stats(result: RunResult) -> dict[str, float]:
    """Of the last summary."""
    lines = (result.directory / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    stats: dict[str, float] = json.loads(lines[-1])["stats"]
    return stats


ALL = {"extrinsic": {}, "curiosity": CURIOSITY, "rnd": RND, "novelty": {"strength": 0.1, "gamma": 0.9}}


@pytest.mark.parametrize("left_out", [None, "extrinsic"])
@pytest.mark.parametrize("memory", [None, {"size": 8, "sequence_length": 8}], ids=["memoryless", "memory"])
def test_signals_combine_each_with_a_value_of_its_own(tmp_path: Path, left_out: str | None, memory: Any) -> None:
    signals = {name: options for name, options in ALL.items() if name != left_out}
    result = run(experiment(signals, network={"memory": memory}), tmp_path, "run")
    saved, stats = arrays(result), last_stats(result)
    assert saved["critic/weights/value_head.weight"].shape[0] == len(signals)
    for name in signals:
        assert np.isfinite([stats[f"reward/{name}/raw"], stats[f"reward/{name}/scaled"]]).all()
    assert {"reward/curiosity/forward_loss", "reward/curiosity/inverse_loss", "reward/rnd/loss"} <= stats.keys()
    assert stats["reward/novelty/scaled"] == pytest.approx(0.1 * stats["reward/novelty/raw"], rel=1e-4)
    # What the environment paid is told whether anybody learns from it or not.
    assert stats["rollout/mean_return"] > 1
    assert ("reward/extrinsic/raw" in stats) == (left_out is None)


def test_each_transition_is_counted_once_however_many_epochs_there_are(tmp_path: Path) -> None:
    counts = []
    for epochs in (1, 5):
        document = experiment({"novelty": {}})
        document["behaviors"]["*"]["trainer"]["num_epoch"] = epochs
        result = run(document, tmp_path, f"run-{epochs}")
        folder = _behavior_folder(result)
        trained = int((folder / "last").read_text(encoding="utf-8"))
        counts.append(arrays(result)["signals/novelty/counts"].sum() / trained)
    # Rows whose reward was not there yet when a rollout was taken are nobody's.
    assert counts[0] == pytest.approx(counts[1], rel=0.02)
    assert 0.9 < counts[0] <= 1


def test_off_policy_each_transition_is_counted_once_however_often_it_is_sampled(tmp_path: Path) -> None:
    document = experiment({"extrinsic": {}, "novelty": {}, "rnd": RND, "curiosity": CURIOSITY}, 600)
    document["behaviors"]["*"]["trainer"] = {"type": "sac", "batch_size": 32, "buffer_init_steps": 100}
    document["behaviors"]["*"]["summary_freq"] = 600
    result = run(document, tmp_path, "run")
    trained = int((_behavior_folder(result) / "last").read_text(encoding="utf-8"))
    assert arrays(result)["signals/novelty/counts"].sum() == pytest.approx(trained, abs=8)
    (first, *_) = (result.directory / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    stats = json.loads(first)["stats"]
    for name in ("extrinsic", "novelty", "rnd", "curiosity"):
        assert np.isfinite([stats[f"reward/{name}/raw"], stats[f"reward/{name}/scaled"]]).all()
    assert stats["reward/rnd/loss"] > 0


@pytest.mark.parametrize("silent", ["curiosity", "rnd", "novelty"])
def test_a_signal_of_constant_strength_0_leaves_the_weights_as_without_it(tmp_path: Path, silent: str) -> None:
    without = arrays(run(experiment({"extrinsic": {}}, 800), tmp_path, "without"))
    signals = {silent: {**ALL[silent], "strength": 0}, "extrinsic": {}}
    result = run(experiment(signals, 800), tmp_path, "with")
    own = {name: array for name, array in arrays(result).items() if not name.startswith(f"signals/{silent}/")}
    assert_equal_arrays(own, without)
    stats = last_stats(result)
    assert stats[f"reward/{silent}/raw"] > 0
    assert stats[f"reward/{silent}/scaled"] == 0


def test_an_exact_run_with_signals_resumed_at_any_checkpoint_ends_with_the_same_weights(tmp_path: Path) -> None:
    document = experiment(ALL, checkpoints={"interval": 500, "exact": True})
    whole = arrays(run(document, tmp_path, "whole"))
    assert any(name.startswith("signals/rnd/model/predictor") for name in whole)
    for keep in (1, 2):
        cut = run(document, tmp_path, f"cut-{keep}")
        _forget_checkpoints_after(cut, keep)
        assert_equal_arrays(arrays(run(document, tmp_path, f"cut-{keep}", resume=True)), whole)


def _forget_checkpoints_after(result: RunResult, keep: int) -> None:
    """Leave the run as if it had been killed right after its `keep`-th checkpoint."""
    folder = _behavior_folder(result)
    steps = sorted(int(path.name) for path in folder.iterdir() if path.is_dir())
    assert len(steps) > keep
    for step in steps[keep:]:
        shutil.rmtree(folder / str(step))
    (folder / "last").write_text(str(steps[keep - 1]))
    (folder / "best").unlink(missing_ok=True)
    (result.directory / "checkpoints" / "saves.json").unlink()


@pytest.mark.parametrize("trainer", ["ppo", "sac"])
@pytest.mark.parametrize(
    ("signal", "changes", "difference"),
    [
        ("rnd", {"features": 9}, r"model\.target\.1\.weight: saved float32\[8, 8\], here float32\[9, 8\]"),
        ("rnd", {"network": {"num_layers": 2}}, r"model\.[a-z0-9.]+weight: saved nothing, here float32\[8, 8\]"),
        (
            "curiosity",
            {"network": {"normalize": False}},
            r"model\.encoder\.normaliser\.[a-z._]+: saved a value, here nothing",
        ),
    ],
)
def test_a_resume_with_another_network_of_a_signal_names_the_signal_and_what_differs(
    tmp_path: Path, trainer: str, signal: str, changes: dict[str, Any], difference: str
) -> None:
    first = {"rnd": RND, "curiosity": CURIOSITY}[signal]
    network = {**NETWORK, **changes.get("network", {})}
    _train_with(trainer, {signal: first}, tmp_path)
    with pytest.raises(
        UserError, match=rf"signal '{signal}' does not fit its saved state: {difference}\. Use "
    ) as refused:
        _train_with(trainer, {signal: {**first, **changes, "network": network}}, tmp_path, resume=True)
    assert f"`reward_signals.{signal}`" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("trainer", ["ppo", "sac"])
@pytest.mark.parametrize(
    ("signals", "here"),
    [
        ({"extrinsic": {}, "novelty": {}, "rnd": RND}, "extrinsic, novelty, rnd"),
        ({"extrinsic": {}}, "extrinsic"),
        ({"extrinsic": {}, "novelty": {"strength": 0}}, r"extrinsic, novelty \(strength 0\)"),
    ],
)
def test_a_resume_with_other_signals_names_the_section_and_both_lists(
    tmp_path: Path, trainer: str, signals: dict[str, Any], here: str
) -> None:
    _train_with(trainer, {"extrinsic": {}, "novelty": {}}, tmp_path)
    with pytest.raises(UserError, match=rf"with `reward_signals` extrinsic, novelty, here are {here}\. Use"):
        _train_with(trainer, signals, tmp_path, resume=True)


def test_a_resume_with_another_trainer_names_both(tmp_path: Path) -> None:
    _train_with("sac", {"extrinsic": {}}, tmp_path)
    with pytest.raises(UserError, match=r"by agents-sac:sac, here is agents-ppo:ppo\. .*--init-from RUN"):
        _train_with("ppo", {"extrinsic": {}}, tmp_path, resume=True)


def _train_with(trainer: str, signals: dict[str, Any], folder: Path, **options: Any) -> None:
    sections = {
        "ppo": {"type": "ppo", "batch_size": 64, "buffer_size": 128, "num_epoch": 1},
        "sac": {
            "type": "sac",
            "batch_size": 8,
            "steps_per_update": 16,
            "buffer_init_steps": 0,
            "buffer": {"buffer_size": 200},
        },
    }
    document = experiment(signals, 400 if options else 200)
    document["behaviors"]["*"]["trainer"] = sections[trainer]
    document["environment"] = {"type": "toy", "id": "ragged", "agents": 8}
    run(document, folder, "run", **options)


def test_a_network_of_a_signal_has_no_memory(tmp_path: Path) -> None:
    signals = {"curiosity": {"network": {"memory": {"size": 8}}}}
    with pytest.raises(UserError, match=r"curiosity\.network\.memory: unknown key"):
        run(experiment(signals), tmp_path, "run")
