"""Whole runs: resumed ones end with the weights of uninterrupted ones, which do not depend on the workers either."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import agents_core
import numpy as np
import pytest
from agents_core.contracts.buffer import Buffer
from agents_core.training.checkpoint import CheckpointStore
from agents_core.training.run_options import RunResult
from agents_sac.trainer import SACTrainer
from safetensors.numpy import load_file

MEMORY = {"size": 8, "sequence_length": 8, "burn_in": 2}


def experiment(toy: dict[str, Any], max_steps: int = 960, **trainer: Any) -> dict[str, Any]:
    """A small experiment on a toy environment, saved every 480 steps."""
    memory = trainer.pop("memory", None)
    signals = trainer.pop("signals", {})
    return {
        "plugins": ["agents_core.testing.plugin"],
        "environment": {"type": "toy", "agents": 4, **toy},
        "behaviors": {
            "*": {
                "max_steps": max_steps,
                "summary_freq": 240,
                "network": {"hidden_units": 16, "num_layers": 1, "normalize": True, "memory": memory},
                "trainer": {
                    "type": "sac",
                    "batch_size": 16,
                    "steps_per_update": 4,
                    "buffer_init_steps": 100,
                    "buffer": {"type": "replay", "buffer_size": 300},
                    **trainer,
                },
                "reward_signals": {"extrinsic": {"gamma": 0.9, "normalize": True}, **signals},
            }
        },
        "checkpoints": {"interval": 480, "exact": True},
        "evaluation": {"interval": 480, "episodes": 2},
        "stats": {"jsonl": {}},
    }


def run(experiment: dict[str, Any], results: Path, run_id: str, **options: Any) -> RunResult:
    return agents_core.train(experiment, results=results, run_id=run_id, **options)


def weights(result: RunResult) -> dict[str, np.ndarray]:
    """Every array of each behavior's last checkpoint: policy, critics, targets, temperature, optimisers."""
    arrays = {}
    for behavior in (path for path in (result.directory / "checkpoints").iterdir() if path.is_dir()):
        folder = behavior / (behavior / "last").read_text().strip()
        for file in ("policy", "trainer"):
            saved = load_file(folder / f"{file}.safetensors")
            arrays |= {f"{behavior.name}.{file}.{name}": array for name, array in saved.items()}
    return arrays


def assert_equal_weights(first: RunResult, second: RunResult) -> None:
    one, two = weights(first), weights(second)
    assert one.keys() == two.keys()
    for part in ("critics", "targets", "temperature", "optimisers"):
        assert any(part in name for name in one), part
    for name, array in one.items():
        np.testing.assert_array_equal(array, two[name], err_msg=name)


@pytest.mark.parametrize(
    ("toy", "options"),
    [
        ({"id": "simple1d", "action": "continuous"}, {}),
        ({"id": "masked_hybrid"}, {"buffer": {"type": "prioritized", "buffer_size": 300, "beta": 0.5}}),
        ({"id": "simple1d"}, {"n_step": 3}),
        ({"id": "remembered_cue"}, {"memory": MEMORY}),
        ({"id": "simple1d"}, {"signals": {"curiosity": {}, "rnd": {}}, "reward_signal_steps_per_update": 12}),
    ],
    ids=["continuous", "hybrid-prioritized", "discrete-steps", "memory", "signals"],
)
def test_an_exact_run_that_is_resumed_ends_with_the_weights_of_one_that_is_not(
    tmp_path: Path, toy: dict[str, Any], options: dict[str, Any]
) -> None:
    whole = run(experiment(toy, **options), tmp_path, "whole")
    run(experiment(toy, max_steps=480, **options), tmp_path, "cut")
    resumed = run(experiment(toy, **options), tmp_path, "cut", resume=True, overrides=["behaviors.*.max_steps=960"])
    assert_equal_weights(whole, resumed)


class Killed(BaseException):
    """Ends a run at once, as a kill does."""


# With eight agents both behaviors are due at the same save; late ones may be unseen until the other is done.
@pytest.mark.parametrize(
    ("toy", "interval"), [({"agents": 8, "num_envs": 2}, 100), ({"late_after": 30}, 50)], ids=["together", "late"]
)
@pytest.mark.parametrize("saves", [1, 4, 6])
def test_an_exact_run_of_two_behaviors_killed_after_any_save_ends_with_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saves: int, toy: dict[str, Any], interval: int
) -> None:
    """A save is made when one behavior has learned: the other may have transitions to learn from, or be done."""
    described = experiment({"id": "ragged", "behaviors": ["First", "Second"], **toy}, max_steps=900, steps_per_update=1)
    described["behaviors"]["Second"] = {"max_steps": 300}
    described["checkpoints"]["interval"] = interval
    described["evaluation"]["interval"] = 0
    whole = run(described, tmp_path, "whole")
    save, made = CheckpointStore.save, []

    def save_and_die(store: CheckpointStore, *arguments: Any, **options: Any) -> dict[str, Path]:
        paths = save(store, *arguments, **options)
        made.append(paths)
        if len(made) == saves:
            raise Killed
        return paths

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointStore, "save", save_and_die)
        with pytest.raises(Killed):
            run(described, tmp_path, "cut")
    assert_equal_weights(whole, run(described, tmp_path, "cut", resume=True))


def test_without_saved_transitions_a_resumed_run_starts_with_an_empty_buffer_and_owes_no_updates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = experiment({"id": "simple1d"})
    plain["checkpoints"]["exact"] = False
    run(plain | {"behaviors": experiment({"id": "simple1d"}, max_steps=480)["behaviors"]}, tmp_path, "run")
    update, rows = SACTrainer._update_once, []

    def watch(trainer: SACTrainer, buffer: Buffer, learning_rate: float) -> dict[str, float]:
        rows.append(len(buffer))
        return update(trainer, buffer, learning_rate)

    monkeypatch.setattr(SACTrainer, "_update_once", watch)
    resumed = run(plain, tmp_path, "run", resume=True, overrides=["behaviors.*.max_steps=960"])
    # One update for each four steps of the four agents, from the first minibatch of 16 on.
    assert rows == [min(count, 300) for count in range(16, 481, 4)]
    (totals,) = resumed.behaviors.values()
    assert totals["steps"] == 960


@pytest.mark.parametrize("toy", [{"id": "masked_hybrid"}, {"id": "ragged", "groups": True, "image": True}])
def test_weights_are_the_same_inline_and_in_processes(tmp_path: Path, toy: dict[str, Any]) -> None:
    runs = []
    for workers in ("inline", "process"):
        environment = {**toy, "num_envs": 2, "workers": {"type": workers}}
        described = experiment(environment, max_steps=480)
        described["checkpoints"]["exact"] = False
        runs.append(run(described, tmp_path, workers))
    assert_equal_weights(*runs)
