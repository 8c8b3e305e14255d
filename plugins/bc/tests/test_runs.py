"""Whole runs: without an environment, with one to evaluate in, resumed, refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import agents_core
import numpy as np
import pytest
from agents_core.config import load_experiment
from agents_core.contracts.demonstration import DemonstrationError
from agents_core.errors import UserError
from agents_core.registry import load_registry
from agents_core.testing.demonstrations import random_demonstration
from agents_core.training.run import train
from agents_core.training.run_options import RunOptions
from bc_experts import demonstrated, write
from safetensors.numpy import load_file

TOY = {"type": "toy", "id": "simple1d", "agents": 4}


def experiment(path: Path, environment: dict[str, Any] | None = None, **trainer: Any) -> dict[str, Any]:
    sections: dict[str, Any] = {} if environment is None else {"environment": environment}
    return sections | {
        "plugins": ["agents_core.testing.plugin"],
        "behaviors": {
            "*": {
                "max_steps": 6000,
                "summary_freq": 1000,
                "network": {"hidden_units": 16},
                "trainer": {"type": "bc", "demo_path": str(path), "learning_rate": 3e-3, "batch_size": 64, **trainer},
            }
        },
        "checkpoints": {"interval": 1000},
        "stats": {"jsonl": {}},
    }


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def weights(run: Path) -> dict[str, np.ndarray]:
    (behavior,) = [path for path in (run / "checkpoints").iterdir() if path.is_dir()]
    return load_file(behavior / (behavior / "last").read_text().strip() / "policy.safetensors")


def test_without_an_environment_the_demonstrations_say_what_is_seen_and_done(tmp_path: Path) -> None:
    _, demonstration = demonstrated("discrete")
    result = agents_core.train(experiment(write(demonstration, tmp_path)), results=tmp_path, run_id="run")
    assert result.status == "finished"
    # The behavior is called what the demonstration calls it.
    assert result.behaviors.keys() == {"Simple1D"}
    assert 6000 <= result.behaviors["Simple1D"]["steps"] < 6300
    stats = lines(result.directory)[-1]["stats"]
    assert stats["validation/accuracy"] == 1
    assert stats["train/nll"] < 0.1
    policy = agents_core.load_policy(result.directory)
    assert policy.act(np.array([[-1.0], [1.0]], np.float32)).discrete[:, 0].tolist() == [0, 1]
    assert (result.directory / "checkpoints/Simple1D/best").exists()
    assert not result.evaluations


def test_a_loaded_policy_does_not_need_the_demonstrations(tmp_path: Path) -> None:
    _, demonstration = demonstrated("discrete")
    path = write(demonstration, tmp_path)
    result = agents_core.train(experiment(path), results=tmp_path, run_id="run")
    path.unlink()
    assert agents_core.load_policy(result.directory).step >= 1000


def test_with_an_environment_the_policy_is_evaluated_in_it(tmp_path: Path) -> None:
    _, demonstration = demonstrated("discrete")
    document = experiment(write(demonstration, tmp_path), TOY)
    result = agents_core.train(document, results=tmp_path, run_id="run")
    returns = [
        line["stats"]["eval/mean_return"] for line in lines(result.directory) if "eval/mean_return" in line["stats"]
    ]
    assert returns[-1] == pytest.approx(1)
    assert result.evaluations["Simple1D"] == pytest.approx(1)


def test_demonstrations_of_another_spec_are_refused_with_both_shown(tmp_path: Path) -> None:
    _, demonstration = demonstrated("continuous")
    document = experiment(write(demonstration, tmp_path), TOY)
    with pytest.raises(DemonstrationError) as caught:
        agents_core.train(document, results=tmp_path, run_id="run")
    assert "expert.h5" in str(caught.value)
    assert "1 continuous action" in str(caught.value)
    assert "branches (2)" in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_demonstrations_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"demo_path.*nowhere\.h5"):
        agents_core.train(experiment(tmp_path / "nowhere.h5"), results=tmp_path, run_id="run")


def test_offline_and_online_trainers_do_not_mix(tmp_path: Path) -> None:
    document = experiment(write(random_demonstration(), tmp_path), TOY)
    document["behaviors"]["Other"] = {"trainer": {"type": "ppo"}}
    with pytest.raises(UserError, match="in runs of their own"):
        agents_core.train(document, results=tmp_path, run_id="run")


@pytest.mark.parametrize("memory", [None, {"size": 8, "sequence_length": 4}])
def test_a_resumed_run_ends_with_the_weights_of_one_that_was_not_stopped(
    tmp_path: Path, memory: dict[str, Any] | None
) -> None:
    _, demonstration = demonstrated("discrete")
    document = experiment(write(demonstration, tmp_path))
    document["behaviors"]["*"]["network"]["memory"] = memory
    whole = agents_core.train(document, results=tmp_path, run_id="whole")
    overrides = ["behaviors.*.max_steps=3000"]
    agents_core.train(document, results=tmp_path, run_id="parts", overrides=overrides)
    parts = agents_core.train(document, results=tmp_path, run_id="parts", resume=True)
    first, second = weights(whole.directory), weights(parts.directory)
    assert first.keys() == second.keys()
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name], err_msg=name)


def test_a_run_ends_early_where_nothing_is_gained_and_may_be_resumed(tmp_path: Path) -> None:
    path = write(random_demonstration(lengths=(30,) * 10), tmp_path)
    document = experiment(path, patience=2, learning_rate=1e-2)
    result = agents_core.train(document, results=tmp_path, run_id="run")
    steps = result.behaviors["random"]["steps"]
    assert result.status == "finished"
    assert steps < 6000
    again = agents_core.train(document, results=tmp_path, run_id="run", resume=True)
    assert again.status == "finished"
    assert again.behaviors["random"]["steps"] == steps


def test_a_policy_that_draws_actions_otherwise_says_which_options_tell(tmp_path: Path) -> None:
    _, demonstration = demonstrated("continuous")
    clone = agents_core.train(experiment(write(demonstration, tmp_path)), results=tmp_path, run_id="clone")
    document = experiment(tmp_path, {**TOY, "action": "continuous"})
    document["behaviors"]["*"] |= {"trainer": {"type": "ppo"}, "network": {"std": "state", "squash": True}}
    registry = load_registry()
    options = RunOptions(results=tmp_path, run_id="tuned", init_from=str(clone.directory), quiet=True)
    with pytest.raises(UserError, match=r"policy of agents-bc:bc: `network.std` and `network.squash` must say"):
        train(load_experiment(document, registry), registry, options)


def test_another_trainer_goes_on_from_a_clone(tmp_path: Path) -> None:
    _, demonstration = demonstrated("discrete")
    clone = agents_core.train(experiment(write(demonstration, tmp_path)), results=tmp_path, run_id="clone")
    document = experiment(tmp_path, TOY)
    document["behaviors"]["*"] |= {"trainer": {"type": "ppo", "buffer_size": 64, "batch_size": 64}, "max_steps": 64}
    registry = load_registry()
    options = RunOptions(results=tmp_path, run_id="tuned", init_from=str(clone.directory), quiet=True)
    result = train(load_experiment(document, registry), registry, options)
    assert result.status == "finished"
    first, second = weights(clone.directory), weights(result.directory)
    assert first.keys() == second.keys()
    # One small update later it is still almost the clone.
    for name in (name for name in first if name.startswith("weights")):
        np.testing.assert_allclose(first[name], second[name], atol=0.02)
