"""SAC with `behavioral_cloning`: demonstrations beside rewards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from agents_core.contracts.demonstration import DemonstrationError
from agents_core.demonstrations import store_demonstration
from agents_core.spec import BehaviorSpec
from agents_core.testing.experts import chosen, demonstrate
from agents_core.testing.toys import Simple1D
from agents_sac.config import SACConfig
from agents_sac.trainer import SACTrainer
from sac_cases import make_trainer, random_transitions

SPEED = 0.4
"""What the expert's continuous action is, towards the goal."""


def spec_and_file(folder: Path, action: Any = "continuous") -> tuple[BehaviorSpec, Path]:
    toy = Simple1D(4, action)
    (spec,) = toy.behavior_specs.values()

    def expert(seen: Any) -> Any:
        goal = seen.observations[0]
        return chosen(toy, continuous=SPEED * goal) if action == "continuous" else chosen(toy, discrete=goal > 0)

    path = folder / f"{action}.h5"
    if not path.exists():
        store_demonstration(path, demonstrate(toy, expert, 20))
    return spec, path


def train(trainer: SACTrainer, updates: int, seed: int = 0) -> dict[str, float]:
    """Updates from random transitions; statistics of the last."""
    stats: dict[str, float] = {}
    while updates:
        seed += 1
        trainer.process(random_transitions(trainer.policy.spec, 1, seed), 10 * seed)
        if trainer.is_ready():
            stats, updates = trainer.update(), updates - 1
    return stats


@pytest.mark.parametrize("action", ["continuous", "discrete"])
def test_the_policy_executes_what_the_expert_executed(tmp_path: Path, action: Any) -> None:
    spec, path = spec_and_file(tmp_path, action)
    trainer = make_trainer(
        spec, learning_rate=3e-3, behavioral_cloning={"demo_path": path, "num_epoch": 4}, init_entcoef=1e-4
    )
    stats = train(trainer, 150)
    actions = trainer.policy.act([np.array([[-1.0], [1.0]], np.float32)], deterministic=True)
    if action == "continuous":
        assert actions.continuous[:, 0] == pytest.approx([-SPEED, SPEED], abs=0.1)
        assert stats["train/cloning_error"] < 0.1
    else:
        assert actions.discrete[:, 0].tolist() == [0, 1]


def test_an_update_takes_one_minibatch_unless_told_otherwise(tmp_path: Path) -> None:
    spec, path = spec_and_file(tmp_path)
    trainer = make_trainer(spec, behavioral_cloning={"demo_path": path})
    train(trainer, 5)
    assert trainer.state_dict()["cloning"]["optimiser"]["steps"] == 5
    assert SACConfig(behavioral_cloning={"demo_path": path, "steps": 20}).behavioral_cloning.steps == 20


def test_a_trainer_that_clones_continues_bit_for_bit(tmp_path: Path) -> None:
    spec, path = spec_and_file(tmp_path)
    section = {"demo_path": path, "steps": 10_000}
    trainer = make_trainer(spec, behavioral_cloning=section)
    train(trainer, 10)
    states = trainer.policy_state(), trainer.state_dict()
    other = make_trainer(spec, seed=7, behavioral_cloning=section)
    train(other, 10)  # The buffer is saved apart; here it is filled in the same way.
    other.load_policy_state(states[0])
    other.load_state_dict(states[1])
    assert train(trainer, 5, seed=50) == train(other, 5, seed=50)
    assert torch.equal(trainer.policy.network.flat.values, other.policy.network.flat.values)


def test_demonstrations_of_another_spec_are_refused_with_both_shown(tmp_path: Path) -> None:
    _, path = spec_and_file(tmp_path, "discrete")
    spec, _ = spec_and_file(tmp_path)
    with pytest.raises(DemonstrationError, match=r"(?s)branches \(2\).*1 continuous action"):
        make_trainer(spec, behavioral_cloning={"demo_path": path})
