"""The collector of transitions against a naive implementation that keeps one dictionary per agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from agents_core.columns import Columns
from agents_core.contracts.environment import Actions, BehaviorSteps, DecisionSteps, TerminalSteps
from agents_core.experience.transitions import TransitionCollector
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.ragged import Ragged
from hypothesis import given, settings
from hypothesis import strategies as st
from ragged_world import RaggedWorld

SPEC = BehaviorSpec((ObservationSpec("vector", (1,)),), ActionSpec(discrete_branches=(5,)))
Row = tuple[Any, ...]


class NaiveTransitions:
    """What each agent waits with: (observation, action, tick of the decision, episode)."""

    def __init__(self) -> None:
        self.waiting: dict[int, tuple[float, int, int]] = {}
        self.tick = 0

    def receive(self, steps: BehaviorSteps) -> list[Row]:
        rows = []
        for i, agent in enumerate(steps.terminal.agent_id.tolist()):
            if agent in self.waiting:
                end = "truncated" if steps.terminal.truncated[i] else "terminated"
                rows.append(self.row(agent, steps.terminal, i, end))
        for i, agent in enumerate(steps.decision.agent_id.tolist()):
            if agent in self.waiting:
                rows.append(self.row(agent, steps.decision, i, ""))
        self.tick += 1
        return rows

    def row(self, agent: int, steps: DecisionSteps | TerminalSteps, i: int, end: str) -> Row:
        seen, action, tick = self.waiting.pop(agent)
        return agent, tick, seen, action, float(steps.reward[i]), float(steps.observations[0][i, 0]), end

    def record(self, decision: DecisionSteps, actions: np.ndarray) -> None:
        for i, agent in enumerate(decision.agent_id.tolist()):
            self.waiting[agent] = (float(decision.observations[0][i, 0]), int(actions[i, 0]), self.tick - 1)


def as_rows(columns: Columns) -> list[Row]:
    ends = np.where(columns["terminated"], "terminated", np.where(columns["truncated"], "truncated", ""))
    fields: Sequence[Any] = (
        columns["agent_id"],
        columns["tick"],
        columns["obs.0"][:, 0],
        columns["action.discrete"][:, 0],
        columns["reward"],
        columns["next_obs.0"][:, 0],
        ends,
    )
    return list(zip(*(field.tolist() for field in fields), strict=True))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    agents=st.integers(1, 90),
    steady=st.booleans(),
    every=st.integers(1, 5),
)
def test_transitions_equal_a_naive_implementation(seed: int, agents: int, steady: bool, every: int) -> None:
    world, naive, collector = RaggedWorld(seed, agents, steady), NaiveTransitions(), TransitionCollector(SPEC)
    random = np.random.default_rng(seed)
    expected: list[Row] = []
    for tick in range(80):
        steps = world.steps()
        collector.receive(steps)
        expected += naive.receive(steps)
        assert collector.rows == len(expected)
        if tick % every == 0:
            assert as_rows(collector.take()) == expected
            expected = []
        if collector.decision is not None:
            np.testing.assert_array_equal(collector.observations[0], steps.decision.observations[0])
            actions = random.integers(5, size=(len(steps.decision), 1))
            collector.record(Actions(np.empty((len(actions), 0), np.float32), actions))
            naive.record(steps.decision, actions)


def test_what_follows_an_agents_transition_is_its_next_one_until_the_episode_ends() -> None:
    # With masks, memory, a second behavior's silence and agents that ask at different times.
    environment = Ragged(12)
    steps = environment.reset(seed=3)
    (spec,) = environment.behavior_specs.values()
    collector = TransitionCollector(spec, memory_size=2)
    parts = []
    for _ in range(300):
        if "Ragged" in steps.behaviors:
            collector.receive(steps.behaviors["Ragged"])
        else:
            collector.wait()
        parts.append(collector.take())
        actions = {}
        if collector.decision is not None:
            memory, decision = collector.memory, collector.decision
            assert memory is not None
            assert decision.action_mask is not None
            choice = decision.action_mask.argmax(axis=1)[:, None]
            actions["Ragged"] = Actions(np.empty((len(memory), 0), np.float32), choice, memory=memory + 1)
            collector.record(actions["Ragged"])
        steps = environment.step(actions)
    table = {
        name: np.concatenate([part[name] for part in parts if name in part])
        for name in parts[-1]
        if sum(len(part) for part in parts if name in part) == sum(map(len, parts))
    }
    assert len(table["reward"]) > 1000
    np.testing.assert_array_equal(table["memory.actor"][:, 0], table["obs.0"][:, 2])
    order = np.lexsort((table["tick"], table["episode_id"]))
    ended = (table["terminated"] | table["truncated"])[order]
    same = np.diff(table["episode_id"][order]) == 0
    np.testing.assert_array_equal(table["next_obs.0"][order][:-1][same], table["obs.0"][order][1:][same])
    np.testing.assert_array_equal(table["next_action_mask"][order][:-1][same], table["action_mask"][order][1:][same])
    assert not ended[:-1][same].any()
    assert table["next_action_mask"][table["terminated"]].all()


def test_a_restart_forgets_who_waits_and_counts_on_the_episodes() -> None:
    world, collector = RaggedWorld(5, 4, True), TransitionCollector(SPEC)
    action = Actions(np.empty((4, 0), np.float32), np.zeros((4, 1), np.int64))
    collector.receive(world.steps())
    collector.record(action)
    collector.restart()
    world.alive.clear()
    collector.receive(world.steps())
    assert collector.rows == 0
    collector.record(action)
    collector.receive(world.steps())
    assert collector.take()["episode_id"].min() == 4
    assert collector.episodes_begun >= 8


def test_discarding_drops_what_is_complete_and_keeps_who_waits() -> None:
    world, collector = RaggedWorld(5, 4, True), TransitionCollector(SPEC)
    action = Actions(np.empty((4, 0), np.float32), np.zeros((4, 1), np.int64))
    for _ in range(3):
        collector.receive(world.steps())
        collector.record(action)
    collector.discard()
    assert collector.rows == 0
    collector.receive(world.steps())
    assert collector.take()["tick"].tolist() == [2] * 4


@pytest.mark.parametrize("with_mask", [True, False])
def test_a_mask_that_shows_up_late_was_all_true_before(with_mask: bool) -> None:
    collector, ids = TransitionCollector(SPEC), np.array([0], np.int64)
    nobody = TerminalSteps(ids[:0], (np.empty((0, 1), np.float32),), np.empty(0, np.float32), np.empty(0, np.bool_))
    mask = np.array([[True, False, True, False, True]])
    for current in (None, mask if with_mask else None, None):
        decision = DecisionSteps(ids, (np.zeros((1, 1), np.float32),), np.zeros(1, np.float32), current)
        collector.receive(BehaviorSteps(decision, nobody))
        collector.record(Actions(np.empty((1, 0), np.float32), np.zeros((1, 1), np.int64)))
    columns = collector.take()
    if not with_mask:
        assert "action_mask" not in columns
        return
    np.testing.assert_array_equal(columns["action_mask"], [[True] * 5, mask[0]])
    np.testing.assert_array_equal(columns["next_action_mask"], [mask[0], [True] * 5])
