"""PPO with `behavioral_cloning`: demonstrations beside rewards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from agents_core.contracts.demonstration import DemonstrationError
from agents_core.demonstrations import store_demonstration
from agents_core.options import MemoryConfig, NetworkConfig
from agents_core.schedules import Schedule
from agents_core.testing.contexts import extrinsic_reward
from agents_core.testing.driver import Driver
from agents_core.testing.experts import chosen, demonstrate
from agents_core.testing.toys import Simple1D
from agents_ppo.config import PPOConfig
from ppo_cases import make_trainer

SPEED = 0.07
"""What the expert's continuous action is, towards the goal: neither a bound nor what pays best."""


def expert_file(folder: Path, action: Any = "continuous") -> Path:
    toy = Simple1D(4, action)

    def expert(seen: Any) -> Any:
        goal = seen.observations[0]
        return chosen(toy, continuous=SPEED * goal) if action == "continuous" else chosen(toy, discrete=goal > 0)

    path = folder / f"{action}.h5"
    if not path.exists():
        store_demonstration(path, demonstrate(toy, expert, 20))
    return path


def make_loop(
    path: Path | None,
    action: Any = "continuous",
    *,
    seed: int = 0,
    network: NetworkConfig | None = None,
    **section: Any,
) -> Driver:
    """PPO on Simple1D without any reward, which alone learns nothing."""
    toy = Simple1D(8, action)
    (spec,) = toy.behavior_specs.values()
    cloning = None if path is None else {"demo_path": path, **section}
    config = PPOConfig(
        buffer_size=128,
        batch_size=32,
        num_epoch=2,
        learning_rate=Schedule(3e-3),
        beta=Schedule(0.0),
        behavioral_cloning=cloning,
    )
    signals = {"extrinsic": extrinsic_reward(spec, strength=0)}
    trainer = make_trainer(spec, config, network, signals=signals, seed=seed, max_steps=10_000)
    return Driver(toy, trainer)


def likely(loop: Driver) -> np.ndarray:
    """The most likely actions at the two goals."""
    memory = np.zeros((2, loop.trainer.policy.memory_size), np.float32)
    actions = loop.trainer.policy.act([np.array([[-1.0], [1.0]], np.float32)], memory=memory, deterministic=True)
    return actions.continuous[:, 0] if actions.continuous.shape[1] else actions.discrete[:, 0]


@pytest.mark.parametrize(
    "network",
    [
        NetworkConfig(hidden_units=32),
        NetworkConfig(hidden_units=32, squash=True),
        NetworkConfig(hidden_units=32, memory=MemoryConfig(size=16, sequence_length=8)),
    ],
)
def test_the_policy_executes_what_the_expert_executed(tmp_path: Path, network: NetworkConfig) -> None:
    loop = make_loop(expert_file(tmp_path), network=network)
    loop.advance(1500)
    assert likely(loop) == pytest.approx([-SPEED, SPEED], abs=0.02)
    assert loop.stats[-1]["train/cloning_error"] < 0.02
    # The deviation, which explores, is left alone.
    assert loop.trainer.policy.network.log_std.item() == pytest.approx(np.log(0.5), abs=0.1)


def test_choices_are_cloned(tmp_path: Path) -> None:
    loop = make_loop(expert_file(tmp_path, "discrete"), "discrete")
    loop.advance(1500)
    assert likely(loop).tolist() == [0, 1]
    assert loop.stats[-1]["train/cloning_accuracy"] == 1


def test_cloning_ends_with_its_steps(tmp_path: Path) -> None:
    loop = make_loop(expert_file(tmp_path), steps=1000)
    loop.advance(600)
    # The last update came after 640 steps.
    assert loop.stats[-1]["train/cloning_strength"] == pytest.approx(0.36)
    loop.advance(400)
    assert loop.stats[-1]["train/cloning_strength"] == 0
    assert "train/cloning_loss" not in loop.stats[-1]


def test_without_the_section_nothing_changes(tmp_path: Path) -> None:
    loops = [make_loop(None), make_loop(expert_file(tmp_path), steps=1)]
    for loop in loops:
        loop.advance(300)
    assert torch.equal(*(loop.trainer.policy.network.flat.values for loop in loops))


def test_a_trainer_that_clones_continues_bit_for_bit(tmp_path: Path) -> None:
    path = expert_file(tmp_path)
    loop = make_loop(path)
    loop.advance(300)
    states = loop.trainer.policy_state(), loop.trainer.state_dict()
    rollout = loop.rollout()
    loop.trainer.process(rollout, 512)
    stats = loop.trainer.update()
    other = make_loop(path, seed=9)
    other.trainer.load_policy_state(states[0])
    other.trainer.load_state_dict(states[1])
    other.trainer.process(rollout, 512)
    assert other.trainer.update() == stats
    assert torch.equal(*(one.trainer.policy.network.flat.values for one in (loop, other)))


def test_demonstrations_of_another_spec_are_refused_with_both_shown(tmp_path: Path) -> None:
    path = expert_file(tmp_path, "discrete")
    with pytest.raises(DemonstrationError, match=r"(?s)branches \(2\).*1 continuous action"):
        make_loop(path)
