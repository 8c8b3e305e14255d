"""The ragged toy tells the truth about itself, so that tests of collecting can rely on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from agents_core.contracts.environment import EnvironmentSteps
from agents_core.testing.ragged import Ragged, expected_reward
from agents_core.testing.random_actions import random_actions

NAMES = ("Ragged", "Ragged?team=1", "Other")


@dataclass
class Agent:
    """What is known of a living agent."""

    episode: int
    time: int
    owed: float


def play(toy: Ragged, steps: int) -> list[EnvironmentSteps]:
    """Random play, judged agent by agent; returns all steps."""
    generator = np.random.default_rng(0)
    history = [toy.reset(seed=1)]
    agents: dict[tuple[str, int], Agent] = {}
    for _ in range(steps):
        judge(history[-1], agents)
        actions = random_actions(history[-1], toy.behavior_specs, generator)
        for name, own in actions.items():
            for row, agent_id in enumerate(history[-1].behaviors[name].decision.agent_id.tolist()):
                agent = agents[name, agent_id]
                value = own.discrete[row].sum() if own.discrete.size else own.continuous[row].sum()
                agent.owed = float(expected_reward(np.array(agent_id), np.array(agent.time), np.float32(value)))
                agent.time += 1
        history.append(toy.step(actions))
    return history


def judge(steps: EnvironmentSteps, agents: dict[tuple[str, int], Agent]) -> None:
    for name, behavior in steps.behaviors.items():
        terminal, decision = behavior.terminal, behavior.decision
        for row, agent_id in enumerate(terminal.agent_id.tolist()):
            agent = agents.pop((name, agent_id))
            assert terminal.observations[0][row].tolist() == [agent_id, agent.episode, agent.time]
            assert terminal.reward[row] == agent.owed
            agents[name, agent_id] = Agent(agent.episode + 1, 0, 0.0)
        for row, agent_id in enumerate(decision.agent_id.tolist()):
            agent = agents.setdefault((name, agent_id), Agent(0, 0, 0.0))
            assert decision.observations[0][row].tolist() == [agent_id, agent.episode, agent.time]
            assert decision.reward[row] == agent.owed
            agent.owed = 0.0


def test_observations_and_rewards_follow_each_agent_through_gaps_and_ends() -> None:
    history = play(Ragged(agents=6, behaviors=NAMES, groups=True, image=True), 300)
    ends = [behavior.terminal for steps in history for behavior in steps.behaviors.values()]
    assert sum(map(len, ends)) > 100
    assert {bool(flag) for end in ends for flag in end.truncated} == {True, False}


def test_the_set_of_agents_that_act_is_ragged() -> None:
    history = play(Ragged(agents=6), 200)
    decisions = [steps.behaviors["Ragged"].decision for steps in history]
    assert len({len(decision) for decision in decisions}) >= 4
    continuing = [
        behavior
        for steps in history
        for behavior in steps.behaviors.values()
        if np.isin(behavior.terminal.agent_id, behavior.decision.agent_id).any()
    ]
    vanishing = [
        behavior
        for steps in history
        for behavior in steps.behaviors.values()
        if (~np.isin(behavior.terminal.agent_id, behavior.decision.agent_id)).any()
    ]
    assert continuing
    assert vanishing


def test_a_late_behavior_shows_up_when_it_should() -> None:
    toy = Ragged(agents=3, behaviors=NAMES, late_after=20)
    toy.reset(seed=1)
    assert list(toy.behavior_specs) == ["Ragged", "Ragged?team=1"]
    history = play(toy, 40)
    first = next(number for number, steps in enumerate(history) if "Other" in steps.behaviors)
    assert first == 20
    assert list(toy.behavior_specs) == list(NAMES)
    with pytest.raises(ValueError, match="the only behavior cannot be late"):
        Ragged(late_after=1)


def test_groups_join_two_places_and_the_first_two_have_none() -> None:
    history = play(Ragged(agents=6, groups=True), 100)
    seen = set()
    for steps in history:
        decision = steps.behaviors["Ragged"].decision
        assert decision.group_id is not None
        assert decision.group_reward is not None
        seen |= set(decision.group_id.tolist())
        acted = decision.observations[0][:, 2] > 0
        np.testing.assert_array_equal(decision.group_reward, np.where(acted & (decision.group_id >= 0), 0.25, 0))
    assert seen == {-1, 0, 1}


def test_a_forbidden_choice_raises() -> None:
    toy = Ragged()
    steps = toy.reset(seed=1)
    actions = random_actions(steps, toy.behavior_specs, np.random.default_rng(0))
    mask = steps.behaviors["Ragged"].decision.action_mask
    assert mask is not None
    actions["Ragged"].discrete[0, 0] = np.argmin(mask[0])
    with pytest.raises(ValueError, match="forbidden"):
        toy.step(actions)
