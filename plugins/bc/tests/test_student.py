"""A student imitates its teacher while both act in the same environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import agents_core
import numpy as np
import pytest
from agents_bc.config import BCConfig
from agents_bc.making import make_trainer as make_bc
from agents_core.columns import Columns
from agents_core.errors import UserError
from agents_core.options import NetworkConfig
from agents_core.testing.contexts import trainer_context
from agents_core.testing.demonstrations import random_demonstration
from agents_core.testing.toys import MaskedBranches
from agents_core.trajectory import Trajectories
from safetensors.numpy import load_file

PPO = {"type": "ppo", "buffer_size": 512, "batch_size": 64, "learning_rate": 3e-3, "beta": 0.0}
SAC = {"type": "sac", "buffer_init_steps": 200, "batch_size": 64, "steps_per_update": 8}


def experiment(
    trainer: dict[str, Any], teacher: str = "Teacher", steps: int = 20_000, **environment: Any
) -> dict[str, Any]:
    return {
        "plugins": [str(Path(__file__).parent / "pair_toy.py")],
        "environment": {"type": "pair", **environment},
        "behaviors": {
            "*": {"max_steps": steps, "time_horizon": 32, "summary_freq": 1000, "network": {"hidden_units": 32}},
            "Teacher": {"trainer": trainer, "reward_signals": {"extrinsic": {"gamma": 0.0}}},
            "Student": {"trainer": {"type": "bc", "teacher": teacher, "learning_rate": 3e-3, "batch_size": 64}},
        },
        "checkpoints": {"interval": 1024, "exact": True},
        "evaluation": {"interval": 0},
        "stats": {"jsonl": {}},
    }


def agreement(run: Path) -> float:
    """Share of choices in which the most likely actions of both are the same."""
    toy = MaskedBranches(8)
    decision = toy.reset(seed=3).behaviors["MaskedBranches"].decision
    policies = [agents_core.load_policy(run, behavior=name, checkpoint="last") for name in ("Teacher", "Student")]
    same = []
    for _ in range(50):
        actions = [policy.act(decision.observations, action_mask=decision.action_mask) for policy in policies]
        same.append(actions[0].discrete == actions[1].discrete)
        decision = toy.step({"MaskedBranches": actions[0]}).behaviors["MaskedBranches"].decision
    return float(np.mean(same))


@pytest.mark.slow
def test_the_student_does_as_its_teacher(tmp_path: Path) -> None:
    result = agents_core.train(experiment(PPO), results=tmp_path, run_id="run")
    assert agreement(result.directory) > 0.95
    lines = [json.loads(line) for line in (result.directory / "metrics.jsonl").read_text().splitlines()]
    student = [line["stats"] for line in lines if line["behavior"] == "Student"]
    assert student[-1]["train/accuracy"] > student[0]["train/accuracy"]
    # It never saw a reward, and earns what the teacher earns.
    assert student[-1]["rollout/mean_return"] > 0.8


def test_a_teacher_of_single_transitions_is_watched_too(tmp_path: Path) -> None:
    result = agents_core.train(experiment(SAC, steps=1500), results=tmp_path, run_id="run")
    line = json.loads((result.directory / "metrics.jsonl").read_text().splitlines()[-1])
    assert {"train/accuracy", "train/nll"} <= line["stats"].keys()


def weights(run: Path, behavior: str) -> dict[str, np.ndarray]:
    folder = run / "checkpoints" / behavior
    return load_file(folder / (folder / "last").read_text().strip() / "policy.safetensors")


def test_a_resumed_run_ends_with_the_weights_of_one_that_was_not_stopped(tmp_path: Path) -> None:
    document = experiment(PPO, steps=3072)
    whole = agents_core.train(document, results=tmp_path, run_id="whole")
    agents_core.train(document, results=tmp_path, run_id="parts", overrides=["behaviors.*.max_steps=1024"])
    parts = agents_core.train(document, results=tmp_path, run_id="parts", resume=True)
    for behavior in ("Teacher", "Student"):
        first, second = weights(whole.directory, behavior), weights(parts.directory, behavior)
        for name, array in first.items():
            np.testing.assert_array_equal(array, second[name], err_msg=f"{behavior} {name}")


def test_what_the_teacher_did_is_kept_when_its_arrays_are_used_again() -> None:
    demonstration = random_demonstration(lengths=(40, 30))
    updates = []
    for overwritten in (False, True):
        config, network = BCConfig(teacher="Teacher"), NetworkConfig(hidden_units=8)
        trainer = make_bc(trainer_context(config, demonstration.spec, network=network, signals={}))
        arrays = {name: array.copy() for name, array in demonstration.episodes.columns.fields.items()}
        assert trainer.teacher == "Teacher"
        for _ in range(4):
            assert not trainer.is_ready()
            trainer.process(Trajectories(Columns(arrays), demonstration.episodes.lengths, ()), 10)
        if overwritten:
            for array in arrays.values():
                array[...] = 0
        updates.append(trainer.update())
    assert updates[0] == updates[1]


def test_a_teacher_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"its teacher 'Nobody' is no other behavior.*are: Teacher"):
        agents_core.train(experiment(PPO, "Nobody"), results=tmp_path, run_id="run")


def test_a_teacher_that_sees_or_does_something_else_is_refused_with_both_shown(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"(?s)student: goal.*teacher: targets"):
        agents_core.train(experiment(PPO, differs=True), results=tmp_path, run_id="run")
