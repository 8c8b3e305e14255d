"""Whole runs through the Python door: they learn, repeat, stop and go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import agents_core
import numpy as np
import pytest
from agents_core.errors import EnvironmentFailedError, NonFiniteError, UserError
from agents_core.training.run_options import RunResult
from safetensors.numpy import load_file


def toy(
    toy_id: str = "simple1d", *, max_steps: int = 4000, environment: dict[str, Any] | None = None, **sections: Any
) -> dict[str, Any]:
    """A small experiment on a toy environment."""
    return {
        "plugins": ["agents_core.testing.plugin"],
        "environment": {"type": "toy", "id": toy_id, "agents": 8, **(environment or {})},
        "behaviors": {
            "*": {
                "max_steps": max_steps,
                "time_horizon": 32,
                "summary_freq": 1000,
                "network": {"hidden_units": 32, "num_layers": 2},
                "trainer": {
                    "type": "ppo",
                    "learning_rate": {"schedule": "linear", "initial": 3e-3, "final": 0},
                    "batch_size": 64,
                    "buffer_size": 256,
                },
                "reward_signals": {"extrinsic": {"gamma": 0.9}},
            }
        },
        "checkpoints": {"interval": 1000},
        "evaluation": {"interval": 0},
        "stats": {"jsonl": {}},
        **sections,
    }


def run(experiment: dict[str, Any], results: Path, run_id: str = "run", **options: Any) -> RunResult:
    return agents_core.train(experiment, results=results, run_id=run_id, **options)


def metrics(result: RunResult) -> list[dict[str, Any]]:
    """metrics.jsonl without what differs between equal runs."""
    lines = [json.loads(line) for line in (result.directory / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        del line["wall_time"]
        line["stats"] = {name: value for name, value in line["stats"].items() if not name.startswith("time/")}
    return lines


def weights(result: RunResult, which: str = "last") -> dict[str, np.ndarray]:
    """Every array of a checkpoint, policy and trainer."""
    (behavior,) = [path for path in (result.directory / "checkpoints").iterdir() if path.is_dir()]
    step = (behavior / which).read_text().strip() if not which.isdigit() else which
    files = [load_file(behavior / step / f"{name}.safetensors") for name in ("policy", "trainer")]
    return {f"{i}.{name}": array for i, arrays in enumerate(files) for name, array in arrays.items()}


def assert_equal_weights(first: RunResult, second: RunResult) -> None:
    one, two = weights(first), weights(second)
    assert one.keys() == two.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, two[name], err_msg=name)


@pytest.mark.parametrize("action", ["discrete", "continuous"])
@pytest.mark.parametrize("agents", [1, 64])
def test_simple1d_is_solved_within_2500_steps_per_agent(tmp_path: Path, action: str, agents: int) -> None:
    experiment = toy(max_steps=2500 * agents, environment={"agents": agents, "action": action})
    trainer = experiment["behaviors"]["*"]["trainer"]
    trainer["buffer_size"], trainer["batch_size"] = (128, 32) if agents == 1 else (2048, 256)
    result = run(experiment, tmp_path)
    last = [line["stats"]["rollout/mean_return"] for line in metrics(result) if line["step"] > 2000 * agents]
    assert np.mean(last) > 0.99


def test_equal_seeds_write_equal_metrics_and_weights(tmp_path: Path) -> None:
    experiment = toy(evaluation={"interval": 1000, "episodes": 8})
    first, second = run(experiment, tmp_path, "first"), run(experiment, tmp_path, "second")
    other = run({**experiment, "seed": 2}, tmp_path, "other")
    assert metrics(first) == metrics(second)
    assert_equal_weights(first, second)
    assert metrics(first) != metrics(other)
    assert any("eval/mean_return" in line["stats"] for line in metrics(first))


@pytest.mark.parametrize("memory", [None, {"size": 8, "sequence_length": 8}], ids=["memoryless", "memory"])
def test_an_exact_run_resumed_at_any_checkpoint_ends_with_the_same_weights(tmp_path: Path, memory: Any) -> None:
    experiment = toy(checkpoints={"interval": 1000, "exact": True}, evaluation={"interval": 1500, "episodes": 4})
    experiment["behaviors"]["*"]["network"]["memory"] = memory
    whole = run(experiment, tmp_path, "whole")
    # The schedule runs over max_steps, so the run is cut by taking its later checkpoints away.
    for keep in (1, 2):
        cut = run(experiment, tmp_path, f"cut-{keep}")
        _forget_checkpoints_after(cut, keep)
        resumed = run(experiment, tmp_path, f"cut-{keep}", resume=True)
        assert_equal_weights(whole, resumed)


def _forget_checkpoints_after(result: RunResult, keep: int) -> None:
    """Leave the run as if it had been killed right after its `keep`-th checkpoint."""
    import shutil

    (behavior,) = [path for path in (result.directory / "checkpoints").iterdir() if path.is_dir()]
    steps = sorted(int(path.name) for path in behavior.iterdir() if path.is_dir())
    for step in steps[keep:]:
        shutil.rmtree(behavior / str(step))
    (behavior / "last").write_text(str(steps[keep - 1]))
    (behavior / "best").unlink(missing_ok=True)
    (result.directory / "checkpoints" / "saves.json").unlink()


def test_a_resumed_run_continues_counters_schedules_and_statistics(tmp_path: Path) -> None:
    experiment = toy(max_steps=2000)
    first = run(experiment, tmp_path)
    rate = [line["stats"]["train/learning_rate"] for line in metrics(first)]
    longer = run(experiment, tmp_path, resume=True, overrides=["behaviors.*.max_steps=4000"])
    lines = metrics(longer)
    steps = [line["step"] for line in lines]
    assert steps == sorted(set(steps))
    assert longer.behaviors.keys() == first.behaviors.keys()
    (before,), (after,) = first.behaviors.values(), longer.behaviors.values()
    assert after["steps"] >= 4000 > before["steps"]
    assert after["episodes"] > before["episodes"]
    # linear over the new length: half of it is left at step 2000
    assert lines[len(rate)]["stats"]["train/learning_rate"] < 3e-3 * 0.55
    assert lines[-1]["stats"]["train/learning_rate"] < 3e-4


def test_a_finished_run_without_more_steps_says_so(tmp_path: Path) -> None:
    experiment = toy(max_steps=500)
    run(experiment, tmp_path)
    again = run(experiment, tmp_path, resume=True)
    assert "is finished" in again.note
    assert "--max-steps" in again.note


def test_a_taken_run_id_is_refused_and_force_replaces_it(tmp_path: Path) -> None:
    experiment = toy(max_steps=500)
    first = run(experiment, tmp_path)
    before = (first.directory / "metrics.jsonl").read_text()
    with pytest.raises(UserError, match="--force"):
        run(experiment, tmp_path)
    assert (first.directory / "metrics.jsonl").read_text() == before
    run({**experiment, "seed": 5}, tmp_path, force=True)
    assert "seed: 5" in (first.directory / "config.yaml").read_text()


def test_the_saved_config_reproduces_the_run(tmp_path: Path) -> None:
    first = run(toy(max_steps=1500), tmp_path, "first")
    second = agents_core.train(first.directory / "config.yaml", results=tmp_path, run_id="second")
    assert_equal_weights(first, second)
    assert (first.directory / "config.yaml").read_text() == (second.directory / "config.yaml").read_text()


def test_several_behaviors_train_at_once_and_late_ones_join(tmp_path: Path) -> None:
    environment = {"agents": 6, "behaviors": ["Runner", "Chaser?team=1"], "late_after": 40}
    result = run(toy("ragged", max_steps=1500, environment=environment), tmp_path)
    assert set(result.behaviors) == {"Runner", "Chaser?team=1"}
    assert all(behavior["steps"] >= 1500 for behavior in result.behaviors.values())
    resumed = run(toy("ragged", max_steps=2500, environment=environment), tmp_path, resume=True)
    assert all(behavior["steps"] >= 2500 for behavior in resumed.behaviors.values())
    with pytest.raises(UserError, match="Runner"):
        agents_core.load_policy(result.directory)
    policy = agents_core.load_policy(result.directory, behavior="Runner")
    observations = [np.zeros((3, *spec.shape), spec.numpy_dtype) for spec in policy.spec.observations]
    actions = policy.act(observations)
    assert len(actions.discrete) == 3
    by_name = {spec.name: array for spec, array in zip(policy.spec.observations, observations, strict=True)}
    np.testing.assert_array_equal(policy.act(by_name).discrete, actions.discrete)
    with pytest.raises(UserError, match=policy.spec.observations[0].name):
        policy.act({"nothing": observations[0]})


def test_max_steps_counts_every_decision_and_the_summary_reports_it(tmp_path: Path) -> None:
    result = run(toy(max_steps=1003), tmp_path)
    summary = json.loads((result.directory / "summary.json").read_text())
    assert summary["status"] == "finished"
    ((_, behavior),) = summary["behaviors"].items()
    assert behavior["steps"] == 1008  # 126 environment steps of 8 agents
    assert metrics(result)[-1]["step"] == 1008
    assert behavior["mean_return"] is not None
    assert json.loads((result.directory / "run.json").read_text())["status"] == "finished"
    timers = json.loads((result.directory / "timers.json").read_text())
    assert {"act", "environment", "collect", "update"} <= timers["children"].keys()


@pytest.mark.parametrize("workers", [{"type": "inline"}, {"type": "process", "count": 1}])
def test_an_environment_that_raises_ends_the_run_with_its_cause_and_a_checkpoint(
    tmp_path: Path, workers: dict[str, Any]
) -> None:
    experiment = toy("raises", environment={"agents": 4, "at_step": 200, "workers": workers})
    with pytest.raises(EnvironmentFailedError):
        run(experiment, tmp_path)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["status"] == "failed"
    assert "Traceback" in (tmp_path / "run" / "run.log").read_text()
    assert "saved" in (tmp_path / "run" / "run.log").read_text()
    assert list((tmp_path / "run" / "checkpoints").glob("*/last"))


@pytest.mark.parametrize("toy_id", ["nan_observation", "nan_reward"])
def test_numbers_that_are_not_finite_are_caught_where_they_appear(tmp_path: Path, toy_id: str) -> None:
    with pytest.raises(EnvironmentFailedError, match="agent"):
        run(toy(toy_id, environment={"agents": 4, "at_step": 30}), tmp_path)


def test_a_learning_rate_that_destroys_the_weights_ends_with_the_tensor_named(tmp_path: Path) -> None:
    experiment = toy()
    experiment["behaviors"]["*"]["trainer"]["learning_rate"] = 1e30
    with pytest.raises(NonFiniteError):
        run(experiment, tmp_path)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "failed"


def test_a_run_that_cannot_start_leaves_nothing_behind(tmp_path: Path) -> None:
    experiment = toy()
    experiment["behaviors"]["*"]["network"]["encoders"] = {"camera": {"type": "simple"}}
    with pytest.raises(UserError, match="camera"):
        run(experiment, tmp_path / "results")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [("hidden_units=16", "shape"), ("activation=swish", 'network.activation is "tanh" there and "swish" here')],
)
def test_a_resume_that_is_refused_leaves_the_run_as_it_was(tmp_path: Path, change: str, message: str) -> None:
    first = run(toy(max_steps=600), tmp_path)
    before = (first.directory / "run.json").read_text()
    with pytest.raises(UserError, match=message):
        run(toy(max_steps=900), tmp_path, resume=True, overrides=[f"behaviors.*.network.{change}"])
    assert json.loads((first.directory / "run.json").read_text()) == json.loads(before)


def test_weights_that_are_not_finite_are_never_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agents_ppo.trainer import PPOTrainer

    monkeypatch.setattr(PPOTrainer, "policy_state", lambda _: {"weights": np.array([1.0, np.nan])})
    with pytest.raises(NonFiniteError, match="weights"):
        run(toy(), tmp_path)
    assert not list((tmp_path / "run").glob("checkpoints/*/last"))


def test_init_from_starts_with_the_weights_at_step_0(tmp_path: Path) -> None:
    from agents_core.config import load_experiment
    from agents_core.registry import load_registry
    from agents_core.training.run import train
    from agents_core.training.run_options import RunOptions

    run(toy(), tmp_path, "first")
    registry = load_registry()
    frozen = toy(max_steps=600)
    frozen["behaviors"]["*"]["trainer"]["learning_rate"] = 1e-12
    options = RunOptions(results=tmp_path, run_id="second", init_from="first", quiet=True)
    second = train(load_experiment(frozen, registry), registry, options)
    (behavior,) = second.behaviors.values()
    assert behavior["steps"] < 1000
    assert metrics(second)[-1]["stats"]["rollout/mean_return"] > 0.9


def test_a_saved_run_with_modules_beside_its_experiment_resumes_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "small_world.py").write_text(
        "import gymnasium\n\n\ndef make(render_mode=None):\n    return gymnasium.make('CartPole-v1')\n"
    )
    text = "\n".join(
        [
            'environment: {type: gymnasium, entry_point: "small_world.py:make", num_envs: 4}',
            'behaviors: {"*": {trainer: {type: ppo, buffer_size: 128, batch_size: 64}, max_steps: 200}}',
            "evaluation: {interval: 0}",
        ]
    )
    (folder / "experiment.yaml").write_text(text)
    first = agents_core.train(folder / "experiment.yaml", results=tmp_path / "results", run_id="run")
    monkeypatch.chdir(tmp_path)
    again = agents_core.train(
        first.directory / "config.yaml",
        results=tmp_path / "results",
        run_id="run",
        resume=True,
        overrides=["behaviors.*.max_steps=400"],
    )
    (behavior,) = again.behaviors.values()
    assert behavior["steps"] is not None
    assert behavior["steps"] >= 400
