"""The collector against a naive implementation that keeps one Python list per agent."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from agents_core.contracts.environment import Actions, BehaviorSteps, DecisionSteps, TerminalSteps
from agents_core.experience.collector import TrajectoryCollector
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.ragged import Ragged
from hypothesis import given, settings
from hypothesis import strategies as st
from ragged_world import RaggedWorld

SPEC = BehaviorSpec((ObservationSpec("vector", (1,)),), ActionSpec(discrete_branches=(5,)))


@dataclass
class NaiveAgent:
    """Rows of one living agent: (observation, action, reward) and what waits for its reward."""

    rows: list[tuple[float, int, float]] = field(default_factory=list)
    waiting: tuple[float, int] | None = None
    unrecorded: bool = False
    episode_return: float = 0.0
    episode_length: int = 0


class NaiveCollector:
    def __init__(self, time_horizon: int) -> None:
        self.time_horizon = time_horizon
        self.agents: dict[int, NaiveAgent] = {}
        self.trajectories: list[tuple[list[tuple[float, int, float]], float, str]] = []
        self.episodes: list[tuple[float, int]] = []
        self.steps = 0

    def reward(self, agent: NaiveAgent, reward: float) -> None:
        if agent.waiting is not None or agent.unrecorded:
            self.steps += 1
            agent.episode_return += reward
            agent.episode_length += 1
        if agent.waiting is not None:
            agent.rows.append((*agent.waiting, reward))
        agent.waiting, agent.unrecorded = None, False

    def close(self, agent: NaiveAgent, final: float, end: str) -> None:
        while agent.rows:
            piece, agent.rows = agent.rows[: self.time_horizon], agent.rows[self.time_horizon :]
            self.trajectories.append((piece, agent.rows[0][0] if agent.rows else final, "cut" if agent.rows else end))

    def receive(self, steps: BehaviorSteps) -> None:
        for i, agent_id in enumerate(steps.terminal.agent_id):
            agent = self.agents.pop(int(agent_id))
            self.reward(agent, float(steps.terminal.reward[i]))
            end = "truncated" if steps.terminal.truncated[i] else "terminated"
            self.close(agent, float(steps.terminal.observations[0][i, 0]), end)
            self.episodes.append((agent.episode_return, agent.episode_length))
        for i, agent_id in enumerate(steps.decision.agent_id):
            agent = self.agents.setdefault(int(agent_id), NaiveAgent())
            self.reward(agent, float(steps.decision.reward[i]))

    def record(self, steps: BehaviorSteps, actions: np.ndarray) -> None:
        for i, agent_id in enumerate(steps.decision.agent_id):
            self.agents[int(agent_id)].waiting = (float(steps.decision.observations[0][i, 0]), int(actions[i, 0]))

    def take(self, steps: BehaviorSteps) -> list[tuple[list[tuple[float, int, float]], float, str]]:
        now = {
            int(a): float(o[0]) for a, o in zip(steps.decision.agent_id, steps.decision.observations[0], strict=True)
        }
        for agent_id, agent in self.agents.items():
            if agent_id not in now:
                self.close(agent, agent.waiting[0] if agent.waiting else 0.0, "cut")
                agent.unrecorded, agent.waiting = agent.waiting is not None or agent.unrecorded, None
            else:
                self.close(agent, now[agent_id], "cut")
        taken, self.trajectories = self.trajectories, []
        return taken


def as_lists(trajectories: object) -> list[tuple[list[tuple[float, int, float]], float, str]]:
    columns = trajectories.columns
    result = []
    for length, last, final in zip(
        trajectories.lengths, trajectories.last_rows, trajectories.final_observations[0][:, 0], strict=True
    ):
        rows = range(last - length + 1, last + 1)
        end = "terminated" if columns["terminated"][last] else "truncated" if columns["truncated"][last] else "cut"
        cells = [(columns["obs.0"][r, 0], columns["action.discrete"][r, 0], columns["reward"][r]) for r in rows]
        result.append(([(float(o), int(a), float(w)) for o, a, w in cells], float(final), end))
    return result


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    agents=st.integers(1, 7),
    time_horizon=st.integers(1, 9),
    rollout_size=st.integers(1, 40),
    steady=st.booleans(),
)
def test_trajectories_and_episodes_equal_a_naive_implementation(
    seed: int, agents: int, time_horizon: int, rollout_size: int, steady: bool
) -> None:
    world, naive = RaggedWorld(seed, agents, steady), NaiveCollector(time_horizon)
    collector = TrajectoryCollector(SPEC, rollout_size, time_horizon)
    random = np.random.default_rng(seed)
    for _ in range(60):
        steps = world.steps()
        collector.receive(steps)
        naive.receive(steps)
        assert collector.steps == naive.steps
        if collector.rows >= rollout_size:
            assert sorted(as_lists(collector.take())) == sorted(naive.take(steps))
        if collector.decision is not None:
            np.testing.assert_array_equal(collector.observations[0], steps.decision.observations[0])
            actions = random.integers(5, size=(len(steps.decision), 1))
            collector.record(Actions(np.empty((len(actions), 0), np.float32), actions))
            naive.record(steps, actions)
    episodes = collector.pop_episodes()
    np.testing.assert_allclose(episodes.returns, [total for total, _ in naive.episodes], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(episodes.lengths, [length for _, length in naive.episodes])


def test_an_agent_removed_in_the_step_of_its_last_reward_ends_terminated_with_that_reward() -> None:
    collector = TrajectoryCollector(SPEC, 8, 8)
    one, none = np.array([3], np.int64), np.empty(0, np.int64)
    seen = lambda value, n=1: (np.full((n, 1), value, np.float32),)  # noqa: E731
    nobody = TerminalSteps(none, seen(0, 0), np.empty(0, np.float32), np.empty(0, np.bool_))
    collector.receive(BehaviorSteps(DecisionSteps(one, seen(1), np.zeros(1, np.float32)), nobody))
    collector.record(Actions(np.empty((1, 0), np.float32), np.array([[2]])))
    gone = DecisionSteps(none, seen(0, 0), np.empty(0, np.float32))
    collector.receive(BehaviorSteps(gone, TerminalSteps(one, seen(9), np.float32([5]), np.array([False]))))
    assert as_lists(collector.take()) == [([(1.0, 2, 5.0)], 9.0, "terminated")]
    assert collector.pop_episodes().returns.tolist() == [5.0]
    assert collector.decision is None


@pytest.mark.parametrize("with_mask", [True, False])
def test_masks_that_come_and_go_never_leave_stale_rows(with_mask: bool) -> None:
    collector = TrajectoryCollector(SPEC, 1, 8)
    ids = np.array([0], np.int64)
    nobody = TerminalSteps(ids[:0], (np.empty((0, 1), np.float32),), np.empty(0, np.float32), np.empty(0, np.bool_))
    mask = np.array([[True, False, True, False, True]])
    for current in (mask, mask if with_mask else None, None):
        decision = DecisionSteps(ids, (np.zeros((1, 1), np.float32),), np.zeros(1, np.float32), current)
        collector.receive(BehaviorSteps(decision, nobody))
        if collector.rows:
            taken = collector.take()
        collector.record(Actions(np.empty((1, 0), np.float32), np.zeros((1, 1), np.int64)))
    np.testing.assert_array_equal(taken.columns["action_mask"], mask if with_mask else np.ones_like(mask))


def test_agents_keep_their_memory_while_others_come_and_go_and_lose_it_with_their_episode() -> None:
    # Each agent remembers how many decisions it has taken, which is what the toy shows.
    environment = Ragged(12)
    steps = environment.reset(seed=3)
    (spec,) = environment.behavior_specs.values()
    collector = TrajectoryCollector(spec, 64, 16, memory_size=2)
    rows = 0
    for _ in range(400):
        if "Ragged" not in steps.behaviors:
            collector.wait()
        else:
            collector.receive(steps.behaviors["Ragged"])
        if collector.rows >= 64:
            columns = collector.take().columns
            rows += len(columns)
            np.testing.assert_array_equal(columns["memory.actor"][:, 0], columns["obs.0"][:, 2])
        actions = {}
        if collector.decision is not None:
            memory, decision = collector.memory, collector.decision
            assert memory is not None
            assert decision.action_mask is not None
            np.testing.assert_array_equal(memory[:, 0], collector.observations[0][:, 2])
            choice = decision.action_mask.argmax(axis=1)[:, None]
            actions["Ragged"] = Actions(np.empty((len(memory), 0), np.float32), choice, memory=memory + 1)
            collector.record(actions["Ragged"])
        steps = environment.step(actions)
    assert rows > 1000


def test_without_memory_there_is_no_column_of_it() -> None:
    collector = TrajectoryCollector(SPEC, 1, 8)
    ids = np.array([0], np.int64)
    nobody = TerminalSteps(ids[:0], (np.empty((0, 1), np.float32),), np.empty(0, np.float32), np.empty(0, np.bool_))
    for _ in range(2):
        decision = DecisionSteps(ids, (np.zeros((1, 1), np.float32),), np.zeros(1, np.float32))
        collector.receive(BehaviorSteps(decision, nobody))
        assert collector.memory is None
        collector.record(Actions(np.empty((1, 0), np.float32), np.zeros((1, 1), np.int64)))
    assert "memory.actor" not in collector.take().columns
