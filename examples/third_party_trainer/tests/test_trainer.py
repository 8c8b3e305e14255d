"""What the policy gradient is computed from, and that it learns."""

from __future__ import annotations

from pathlib import Path

import agents_core
import numpy as np
import pytest
from agents_core.columns import Columns
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.errors import UserError
from agents_core.options import MemoryConfig, NetworkConfig
from agents_core.schedules import Schedule
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.contexts import extrinsic_reward, trainer_context
from agents_core.trajectory import Trajectories
from agents_reinforce.config import ReinforceConfig
from agents_reinforce.trainer import ReinforceTrainer

SPEC = BehaviorSpec((ObservationSpec("position", (1,)),), ActionSpec(discrete_branches=(2,)))


def reinforce(network: NetworkConfig | None = None, **signals: RewardSignal) -> ReinforceTrainer:
    config = ReinforceConfig(learning_rate=Schedule(0.05))
    signals = signals or {"extrinsic": extrinsic_reward(SPEC, gamma=0.5)}
    network = network or NetworkConfig(hidden_units=4)
    return ReinforceTrainer(trainer_context(config, SPEC, network=network, signals=signals))


def trajectories(actions: list[int], rewards: list[float], lengths: list[int]) -> Trajectories:
    """Of an agent that always sees 1."""
    rows, ends = len(actions), np.cumsum(lengths) - 1
    columns = Columns(
        {
            "obs.0": np.ones((rows, 1), np.float32),
            "action.discrete": np.array(actions)[:, None],
            "action.raw": np.zeros((rows, 0), np.float32),
            "action.continuous": np.zeros((rows, 0), np.float32),
            "reward": np.array(rewards, np.float32),
            "terminated": np.isin(np.arange(rows), ends),
            "truncated": np.zeros(rows, np.bool_),
            "agent_id": np.zeros(rows, np.int64),
            "episode_id": np.repeat(np.arange(len(lengths)), lengths),
            "tick": np.arange(rows),
        }
    )
    return Trajectories(columns, np.array(lengths), (np.ones((len(lengths), 1), np.float32),))


def share_of_action_1(trainer: ReinforceTrainer) -> float:
    actions = trainer.policy.act((np.ones((4000, 1), np.float32),), generator=np.random.default_rng(0))
    return float(actions.discrete.mean())


def test_loss_is_the_mean_log_probability_times_the_standardised_return() -> None:
    trainer = reinforce()
    # At first both actions are equally likely: log π is nearly log ½ everywhere, and returns of mean 0 cancel it.
    trainer.process(trajectories([0, 1, 1, 0], [1, 1, 1, 5], [3, 1]), 4)
    assert trainer.update()["train/policy_loss"] == pytest.approx(0, abs=0.01)


def test_an_action_gets_more_likely_the_more_was_earned_from_there_on() -> None:
    trainer = reinforce()
    # Returns at γ = ½: 1 + 2/4 = 1.5, 1, 2 after action 0, and 0 twice after action 1 of the second episode.
    for _ in range(20):
        trainer.process(trajectories([0, 0, 0, 1, 1], [1, 0, 2, 0, 0], [3, 2]), 5)
        trainer.update()
    assert share_of_action_1(trainer) < 0.1


def test_what_is_earned_in_another_episode_does_not_count() -> None:
    trainer = reinforce(extrinsic=extrinsic_reward(SPEC, gamma=1.0))
    # Without the border, the first row would see the 10 of the second episode and action 1 would look better.
    for _ in range(20):
        trainer.process(trajectories([1, 0, 0], [0, 0, 10], [1, 2]), 3)
        trainer.update()
    assert share_of_action_1(trainer) < 0.1


def test_every_signal_counts_by_its_strength() -> None:
    trainer = reinforce(first=extrinsic_reward(SPEC, strength=0.5), second=extrinsic_reward(SPEC, strength=2.0))
    trainer.process(trajectories([0, 1], [1, 0], [1, 1]), 2)
    stats = trainer.update()
    assert stats["reward/first/scaled"] == pytest.approx(0.25)
    assert stats["reward/second/scaled"] == pytest.approx(1.0)


def test_memory_is_refused() -> None:
    with pytest.raises(UserError, match=r"remove network\.memory"):
        reinforce(NetworkConfig(memory=MemoryConfig()))


def test_it_learns_to_walk_to_the_goal_that_is_shown(tmp_path: Path) -> None:
    run = agents_core.train(
        {
            "plugins": ["agents_core.testing.plugin"],
            "environment": {"type": "toy", "id": "simple1d", "agents": 16},
            "behaviors": {
                "*": {
                    "max_steps": 16_000,
                    "time_horizon": 64,
                    "network": {"hidden_units": 32},
                    "trainer": {"type": "reinforce", "buffer_size": 512, "learning_rate": 1e-2},
                    "reward_signals": {"extrinsic": {"gamma": 0.95}},
                }
            },
            "evaluation": {"interval": 0},
            "stats": {"jsonl": {}},
        },
        results=tmp_path,
        run_id="run",
    )
    assert run.behaviors["Simple1D"]["mean_return"] > 0.95
