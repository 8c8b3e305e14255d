"""The toy with goals pays 1 on the way to the goal, and less on any other."""

from __future__ import annotations

import numpy as np
import pytest
from agents_core.contracts.environment import Actions
from agents_core.testing.goal_toys import GoalLine


def walk(toy: GoalLine, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rewards, and who arrived or was cut off."""
    action = Actions(np.zeros((len(right), 0), np.float32), right.astype(np.int64)[:, None])
    steps = toy.step({"GoalLine": action}).behaviors["GoalLine"]
    reward = steps.decision.reward.copy()
    reward[steps.terminal.agent_id] = steps.terminal.reward
    return reward, steps.terminal.agent_id, steps.terminal.truncated


def test_the_straight_way_pays_1_and_a_step_back_costs_a_tenth() -> None:
    toy = GoalLine(agents=50)
    position, target = toy.reset(seed=1).behaviors["GoalLine"].decision.observations
    right = target.argmax(axis=1) > position.argmax(axis=1)
    distance = np.abs(target.argmax(axis=1) - position.argmax(axis=1))
    assert set(distance) == set(range(1, 7))
    reward, arrived, _ = walk(toy, right)
    assert arrived.tolist() == np.flatnonzero(distance == 1).tolist()
    np.testing.assert_array_equal(reward, np.where(distance == 1, 1, 0).astype(np.float32))
    toy.reset(seed=1)
    reward, arrived, _ = walk(toy, ~right)
    assert len(arrived) == 0
    assert reward == pytest.approx(np.full(50, -0.1))


def test_an_episode_that_leads_nowhere_is_cut_off() -> None:
    toy = GoalLine(agents=1)
    position, target = toy.reset(seed=1).behaviors["GoalLine"].decision.observations
    away = target.argmax(axis=1) < position.argmax(axis=1)
    for step in range(30):
        _, ended, truncated = walk(toy, away)
        assert len(ended) == (step == 29)
    assert truncated.tolist() == [True]
