"""Whole runs with demonstrations, under every trainer that takes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import agents_core
import h5py
import numpy as np
import pytest
from agents_core.contracts.demonstration import DemonstrationError
from agents_core.demonstrations import load_demonstrations, store_demonstration
from agents_core.testing.demonstrations import random_demonstration
from agents_core.testing.experts import chosen, demonstrate
from agents_core.testing.toys import Simple1D
from safetensors.numpy import load_file

PPO = {"type": "ppo", "buffer_size": 256, "batch_size": 64, "num_epoch": 2, "learning_rate": 3e-3}
SAC = {"type": "sac", "buffer_init_steps": 200, "batch_size": 32, "steps_per_update": 8}


@pytest.fixture
def expert(tmp_path: Path) -> Path:
    """Demonstrations of what to do in `simple1d`."""
    toy = Simple1D(4)
    path = tmp_path / "expert.h5"
    store_demonstration(path, demonstrate(toy, lambda seen: chosen(toy, discrete=seen.observations[0] > 0), 10))
    return path


def experiment(trainer: dict[str, Any], signals: dict[str, Any] | None = None, steps: int = 1024) -> dict[str, Any]:
    return {
        "plugins": ["agents_core.testing.plugin"],
        "environment": {"type": "toy", "id": "simple1d", "agents": 8},
        "behaviors": {
            "*": {
                "max_steps": steps,
                "time_horizon": 32,
                "summary_freq": 512,
                "network": {"hidden_units": 16},
                "trainer": trainer,
                "reward_signals": signals or {"extrinsic": {"gamma": 0.9}},
            }
        },
        "checkpoints": {"interval": 512, "exact": True},
        "evaluation": {"interval": 0},
        "stats": {"jsonl": {}},
    }


def gail(path: Path, **options: Any) -> dict[str, Any]:
    return {"demo_path": str(path), "gamma": 0.9, "network": {"hidden_units": 16}, **options}


CASES = {
    "ppo with gail": lambda path: experiment(PPO, {"gail": gail(path)}),
    "ppo with gail, vail and its reward": lambda path: experiment(
        PPO, {"extrinsic": {}, "gail": gail(path, use_vail=True, use_actions=True)}
    ),
    "ppo with cloning": lambda path: experiment({**PPO, "behavioral_cloning": {"demo_path": str(path), "steps": 5000}}),
    "sac with gail": lambda path: experiment(SAC, {"gail": gail(path, reward="centered")}),
    "sac with cloning": lambda path: experiment({**SAC, "behavioral_cloning": {"demo_path": str(path)}}),
    "sac with demonstrations in its buffer": lambda path: experiment(
        {**SAC, "buffer": {"buffer_size": 2000, "demo_path": str(path), "demo_fraction": 0.25}}
    ),
}


def weights(run: Path) -> dict[str, np.ndarray]:
    (behavior,) = [path for path in (run / "checkpoints").iterdir() if path.is_dir()]
    folder = behavior / (behavior / "last").read_text().strip()
    files = [load_file(folder / f"{name}.safetensors") for name in ("policy", "trainer")]
    return {f"{number}.{name}": array for number, arrays in enumerate(files) for name, array in arrays.items()}


@pytest.mark.parametrize("name", CASES)
def test_a_resumed_run_ends_with_the_weights_of_one_that_was_not_stopped(
    tmp_path: Path, expert: Path, name: str
) -> None:
    document = CASES[name](expert)
    whole = agents_core.train(document, results=tmp_path, run_id="whole")
    agents_core.train(document, results=tmp_path, run_id="parts", overrides=["behaviors.*.max_steps=512"])
    parts = agents_core.train(document, results=tmp_path, run_id="parts", resume=True)
    first, second = weights(whole.directory), weights(parts.directory)
    assert first.keys() == second.keys()
    for array in first:
        np.testing.assert_array_equal(first[array], second[array], err_msg=array)
    stats = json.loads((whole.directory / "metrics.jsonl").read_text().splitlines()[-1])["stats"]
    if "gail" in name:
        assert {"reward/gail/raw", "reward/gail/expert_accuracy", "reward/gail/policy_accuracy"} <= stats.keys()
    if "cloning" in name:
        assert {"train/cloning_strength", "train/cloning_nll", "train/cloning_accuracy"} <= stats.keys()


LOCAL_FORMAT = """
from pathlib import Path

from agents_core.contracts.demonstration import DemonstrationFormat
from agents_core.demonstrations import load_demonstrations
from agents_core.options import NoOptions
from agents_core.plugin import DemonstrationFormatSpec, hookimpl


class Backwards(DemonstrationFormat):
    def __init__(self, context):
        pass

    def read(self, source):
        copy = Path(source + ".h5")
        copy.write_bytes(Path(source).read_bytes()[::-1])
        return load_demonstrations(copy)


@hookimpl
def agents_demonstration_formats():
    return [DemonstrationFormatSpec(name="backwards", summary="HDF5 from its end", suffixes=(".5fdh",),
                                    config="agents_core.options:NoOptions", factory="local_format:Backwards")]
"""


@pytest.mark.parametrize("name", [*CASES, "bc"])
def test_a_format_of_the_experiments_own_plugins_serves_all_that_take_demonstrations(
    tmp_path: Path, expert: Path, name: str
) -> None:
    plugin, own = tmp_path / "local_format.py", tmp_path / "expert.5fdh"
    plugin.write_text(LOCAL_FORMAT, encoding="utf-8")
    own.write_bytes(expert.read_bytes()[::-1])
    document = CASES[name](own) if name in CASES else experiment({"type": "bc", "demo_path": str(own)})
    document["plugins"].append(str(plugin))
    agents_core.train(document, results=tmp_path, run_id="run", overrides=["behaviors.*.max_steps=512"])
    assert Path(f"{own}.h5").exists()


@pytest.mark.parametrize("name", CASES)
def test_a_trained_policy_does_not_need_the_demonstrations(tmp_path: Path, expert: Path, name: str) -> None:
    document = CASES[name](expert)
    run = agents_core.train(document, results=tmp_path, run_id="run", overrides=["behaviors.*.max_steps=512"])
    expert.unlink()
    actions = agents_core.load_policy(run.directory).act(np.array([[1.0]], np.float32))
    assert actions.discrete.shape == (1, 1)


@pytest.mark.parametrize("name", CASES)
def test_demonstrations_of_another_spec_are_refused_before_anything_starts(
    tmp_path: Path, expert: Path, name: str
) -> None:
    expert.unlink()
    store_demonstration(expert, random_demonstration())
    with pytest.raises(DemonstrationError, match=r"(?s)camera uint8.*goal float32\[1\]; branches \(2\)"):
        agents_core.train(CASES[name](expert), results=tmp_path, run_id="run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["sac with demonstrations in its buffer", "sac with cloning"])
def test_a_replay_buffer_of_ml_agents_serves_like_the_demonstrations_that_it_holds(
    tmp_path: Path, expert: Path, name: str
) -> None:
    episodes = load_demonstrations(expert).episodes
    columns, padding = episodes.columns, 3
    fields = {
        "obs:0": columns["obs.0"],
        "next_obs:0": episodes.next_observations()[0],
        "continuous_action": np.empty((len(episodes), 0)),
        "discrete_action": columns["action.discrete"],
        "action_mask": np.ones((len(episodes), 2)),
        "done": columns["terminated"],
        "environment_rewards": columns["reward"],
        "masks": np.ones(len(episodes)),
    }
    buffer = tmp_path / "last_replay_buffer.hdf5"
    with h5py.File(buffer, "w") as file:
        for key, values in fields.items():
            padded = np.concatenate([values, np.zeros((padding, *values.shape[1:]))])
            file.create_dataset(key, data=padded, dtype="f", compression="gzip")
    steps = ["behaviors.*.max_steps=512"]
    runs = [
        agents_core.train(CASES[name](path), results=tmp_path, run_id=path.stem, overrides=steps)
        for path in (expert, buffer)
    ]
    first, second = (weights(run.directory) for run in runs)
    assert first.keys() == second.keys()
    for array in first:
        np.testing.assert_array_equal(first[array], second[array], err_msg=array)


def test_paths_start_from_the_experiment_file(tmp_path: Path, expert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(json.dumps(CASES["ppo with gail"](Path(expert.name))), encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    result = agents_core.train(file, results="results", overrides=["behaviors.*.max_steps=256"])
    assert result.status == "finished"
