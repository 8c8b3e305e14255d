"""Evaluation measures whole episodes, as many of each agent, and touches nothing that trains."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from agents_core.columns import Array
from agents_core.contracts.environment import (
    Actions,
    BehaviorSteps,
    DecisionSteps,
    EnvironmentSteps,
    TerminalSteps,
)
from agents_core.contracts.policy import Policy
from agents_core.contracts.worker_pool import WorkerPool, WorkerPoolContext
from agents_core.environments.config import InlineConfig
from agents_core.environments.inline import InlinePool
from agents_core.errors import UserError
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.toy_config import ToyConfig
from agents_core.testing.toy_factory import ToyMaker
from agents_core.training.evaluation import EndlessEpisodesError, EvaluationResult, evaluate
from agents_core.training.measurement import PATIENCE
from hypothesis import given, settings
from hypothesis import strategies as st

SPEC = BehaviorSpec((ObservationSpec("x", (1,)),), ActionSpec(discrete_branches=(3,)))


class Chooser(Policy):
    """Chooses 2 when deterministic, else at random; from its own generator if none is given."""

    def __init__(self, spec: BehaviorSpec = SPEC) -> None:
        self.spec = spec
        self.generator = np.random.default_rng(0)
        self.masks: list[object] = []

    def act(
        self,
        observations: Sequence[Array],
        action_mask: npt.NDArray[np.bool_] | None = None,
        *,
        memory: npt.NDArray[np.float32] | None = None,  # noqa: ARG002
        deterministic: bool = False,
        generator: np.random.Generator | None = None,
    ) -> Actions:
        rows = len(observations[0])
        self.masks.append(action_mask)
        generator = self.generator if generator is None else generator
        branches = self.spec.action.discrete_branches
        discrete = (
            np.full((rows, len(branches)), 2) if deterministic else generator.integers(0, 3, (rows, len(branches)))
        )
        if action_mask is not None:
            discrete = action_mask.argmax(axis=1)[:, None]
        return Actions(np.zeros((rows, self.spec.action.continuous_size), np.float32), discrete)


@dataclass
class Agent:
    """What a place of the scripted pool does: lengths of its episodes, repeated, and decisions away between them."""

    lengths: Sequence[int]
    pay: float = 1.0
    away: int = 0
    born: int = 0
    episodes: int = 1_000_000


class ScriptedPool(WorkerPool):
    """Agents with episodes of known lengths; every decision pays the agent's `pay`, and group rewards as much again.

    The reward of a decision arrives with the next one or with the end. With `fresh_ids` every episode has a new id.
    """

    def __init__(
        self, behaviors: Mapping[str, Sequence[Agent]], *, fresh_ids: bool = False, groups: bool = False
    ) -> None:
        self.behaviors = behaviors
        self.fresh_ids = fresh_ids
        self.groups = groups
        self.seeds: list[int | None] = []
        self.actions: list[Mapping[str, Actions]] = []

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return dict.fromkeys(self.behaviors, SPEC)

    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        assert parameters is None
        self.seeds.append(seed)
        self.tick = 0
        self.places = {
            name: [_Place(agent, deque(itertools.islice(itertools.cycle(agent.lengths), 300))) for agent in agents]
            for name, agents in self.behaviors.items()
        }
        self.next_id = itertools.count()
        return self._steps()

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        self.actions.append(actions)
        self.tick += 1
        return self._steps()

    def close(self) -> None:
        raise AssertionError("an evaluation leaves the pool open")

    def _steps(self) -> EnvironmentSteps:
        steps = {}
        for name, places in self.places.items():
            ended, acting = [], []
            for place in places:
                place.advance(self, ended, acting)
            if ended or acting:
                steps[name] = BehaviorSteps(
                    DecisionSteps(*self._columns(acting), None, *self._group(acting)),
                    TerminalSteps(*self._columns(ended), np.zeros(len(ended), np.bool_), *self._group(ended)),
                )
        return EnvironmentSteps(steps)

    @staticmethod
    def _columns(rows: list[tuple[int, float]]) -> tuple[Any, Any, Any]:
        observations = (np.zeros((len(rows), 1), np.float32),)
        return (
            np.array([row[0] for row in rows], np.int64),
            observations,
            np.array([row[1] for row in rows], np.float32),
        )

    def _group(self, rows: list[tuple[int, float]]) -> tuple[Any, Any]:
        if not self.groups:
            return None, None
        return np.zeros(len(rows), np.int64), np.array([row[1] for row in rows], np.float32)


@dataclass
class _Place:
    agent: Agent
    lengths: deque[int]
    id: int = -1
    done: int = 0
    left: int = 0
    waits: int = 0

    def advance(self, pool: ScriptedPool, ended: list[tuple[int, float]], acting: list[tuple[int, float]]) -> None:
        if pool.tick < self.agent.born:
            return
        if self.left:
            self.left -= 1
            if self.left:
                acting.append((self.id, self.agent.pay))
                return
            ended.append((self.id, self.agent.pay))
            self.done += 1
            self.waits = self.agent.away
        elif self.waits:
            self.waits -= 1
        if not self.waits and self.done < self.agent.episodes:
            if self.id < 0 or pool.fresh_ids:
                self.id = next(pool.next_id)
            self.left = self.lengths.popleft()
            acting.append((self.id, 0.0))


def measure(pool: WorkerPool, episodes: int, **options: Any) -> EvaluationResult:
    return evaluate({"a": Chooser()}, pool, episodes=episodes, seed=1, **options)["a"]


def test_returns_and_lengths_are_those_of_whole_episodes() -> None:
    result = measure(ScriptedPool({"a": [Agent([3, 1], pay=2.0), Agent([2, 5], pay=-1.0)]}), 4)
    # In the order of their starts: both first episodes at tick 0, then agent 1's at tick 2, agent 0's at tick 3.
    assert result.lengths.tolist() == [3, 2, 5, 1]
    assert result.returns.tolist() == [6.0, -2.0, -5.0, 2.0]
    assert result.episodes == 4
    assert result.mean_return == 0.25
    assert result.std_return == pytest.approx(np.sqrt(np.mean((np.array([6, -2, -5, 2]) - 0.25) ** 2)))
    assert result.mean_length == 2.75
    assert result.returns.dtype == np.float64


def test_group_rewards_count() -> None:
    result = measure(ScriptedPool({"a": [Agent([3], pay=2.0)]}, groups=True), 1)
    assert result.returns.tolist() == [12.0]


def test_quick_agents_do_not_crowd_out_slow_ones() -> None:
    result = measure(ScriptedPool({"a": [Agent([1]), Agent([1]), Agent([1]), Agent([50])]}), 8)
    assert sorted(result.lengths.tolist()) == [1, 1, 1, 1, 1, 1, 50, 50]


def test_every_agent_gives_as_many_episodes_so_that_their_number_is_rounded_up() -> None:
    result = measure(ScriptedPool({"a": [Agent([2]), Agent([3]), Agent([4])]}), 4)
    assert sorted(result.lengths.tolist()) == [2, 2, 3, 3, 4, 4]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=4), min_size=1, max_size=6),
    st.lists(st.integers(0, 3), min_size=6, max_size=6),
    st.integers(1, 20),
)
def test_the_first_episodes_of_each_agent_count(scripts: list[list[int]], away: list[int], episodes: int) -> None:
    agents = [Agent(lengths, pay=2.0**place, away=away[place]) for place, lengths in enumerate(scripts)]
    result = measure(ScriptedPool({"a": agents}), episodes)
    share = -(-episodes // len(agents))
    expected = [
        (length, length * agent.pay)
        for agent in agents
        for length in itertools.islice(itertools.cycle(agent.lengths), share)
    ]
    found = list(zip(result.lengths.tolist(), result.returns.tolist(), strict=True))
    assert sorted(found) == sorted(expected)


def test_agents_under_new_ids_count_in_the_order_in_which_their_episodes_begin() -> None:
    result = measure(ScriptedPool({"a": [Agent([4], pay=1.0), Agent([2], pay=10.0)]}, fresh_ids=True), 4)
    # Begun at ticks 0, 0, 2, 4 (agent 0's second comes before agent 1's third).
    assert result.returns.tolist() == [4.0, 20.0, 20.0, 4.0]


def test_the_shares_of_agents_that_vanish_go_to_others() -> None:
    pool = ScriptedPool({"a": [Agent([2], pay=1.0, episodes=1), Agent([3], pay=10.0)]})
    assert sorted(measure(pool, 6).returns.tolist()) == [2.0, 30.0, 30.0, 30.0, 30.0, 30.0]


def test_an_agent_that_stays_away_for_a_while_keeps_its_share() -> None:
    pool = ScriptedPool({"a": [Agent([1], pay=1.0), Agent([1], pay=10.0, away=PATIENCE)]})
    assert sorted(measure(pool, 6).returns.tolist()) == [1.0, 1.0, 1.0, 10.0, 10.0, 10.0]


def test_agents_born_later_count_where_there_is_room() -> None:
    pool = ScriptedPool({"a": [Agent([5], pay=1.0), Agent([1], pay=10.0, born=2)]})
    assert measure(pool, 3).returns.tolist() == [5.0, 10.0, 10.0]


def test_what_ends_without_a_decision_is_no_episode() -> None:
    class Stillborn(ScriptedPool):
        def _steps(self) -> EnvironmentSteps:
            steps = super()._steps()
            terminal = steps.behaviors["a"].terminal
            extra = TerminalSteps(
                np.append(terminal.agent_id, 99),
                (np.zeros((len(terminal) + 1, 1), np.float32),),
                np.append(terminal.reward, np.float32(1000)),
                np.append(terminal.truncated, False),
            )
            steps.behaviors["a"].terminal = extra
            return steps

    assert measure(Stillborn({"a": [Agent([2])]}), 2).returns.tolist() == [2.0, 2.0]


def test_every_behavior_is_measured_to_its_end() -> None:
    pool = ScriptedPool({"a": [Agent([1])], "b": [Agent([7], pay=3.0)]})
    results = evaluate({"a": Chooser(), "b": Chooser()}, pool, episodes=2, seed=1)
    assert results["a"].returns.tolist() == [1.0, 1.0]
    assert results["b"].returns.tolist() == [21.0, 21.0]


def test_a_behavior_without_policy_is_refused_by_name() -> None:
    pool = ScriptedPool({"a": [Agent([1])], "b": [Agent([7])]})
    with pytest.raises(UserError, match=r"behavior 'b' needs actions, but there is no policy.*policies for: a$"):
        measure(pool, 2)


def test_a_behavior_that_never_shows_up_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    pool = ScriptedPool({"a": [Agent([3])], "b": [Agent([1], born=100)]})
    results = evaluate({"a": Chooser(), "b": Chooser()}, pool, episodes=2, seed=1)
    assert list(results) == ["a"]
    assert "no agent of b showed up" in caplog.text


def test_a_behavior_that_shows_up_late_is_measured() -> None:
    pool = ScriptedPool({"a": [Agent([9])], "b": [Agent([4], born=5)]})
    results = evaluate({"a": Chooser(), "b": Chooser()}, pool, episodes=2, seed=1)
    assert results["b"].lengths.tolist() == [4, 4]


def test_episodes_that_never_end_are_told_instead_of_waited_for() -> None:
    pool = ScriptedPool({"a": [Agent([2], pay=1.0), Agent([10**9])]})
    with pytest.raises(
        EndlessEpisodesError, match=r"no episode ended in 50 steps \(a: 1 of 2 episodes\).*time limit.*interval: 0"
    ):
        measure(pool, 2, max_episode_steps=50)
    with pytest.raises(EndlessEpisodesError, match=r"\(a: no agent\)"):
        measure(ScriptedPool({"a": []}), 1, max_episode_steps=50)
    assert measure(ScriptedPool({"a": [Agent([50])]}), 3, max_episode_steps=50).episodes == 3
    with pytest.raises(EndlessEpisodesError):
        measure(ScriptedPool({"a": [Agent([51])]}), 3, max_episode_steps=50)


def test_no_episode_is_no_evaluation() -> None:
    with pytest.raises(ValueError, match="at least one episode"):
        measure(ScriptedPool({"a": [Agent([1])]}), 0)


def test_the_seed_decides_starts_and_samples_and_nothing_of_the_policy_moves() -> None:
    def samples(seed: int, deterministic: bool, name: str = "a") -> list[list[int]]:
        pool = ScriptedPool({name: [Agent([4]), Agent([4])]})
        policy = Chooser()
        before = policy.generator.bit_generator.state
        evaluate({name: policy}, pool, episodes=8, seed=seed, deterministic=deterministic)
        assert policy.generator.bit_generator.state == before
        assert pool.seeds == [seed]
        return [actions[name].discrete[:, 0].tolist() for actions in pool.actions]

    assert samples(5, False) == samples(5, False)
    assert samples(5, False) != samples(6, False)
    assert samples(5, False) != samples(5, False, "b")
    assert samples(5, True) == [[2, 2]] * 16


def inline(config: ToyConfig, num_envs: int) -> InlinePool:
    return InlinePool(WorkerPoolContext(InlineConfig(), num_envs, False, ToyMaker(config)))


@pytest.mark.parametrize("num_envs", [1, 3])
def test_a_real_pool_gives_what_its_environment_pays(num_envs: int) -> None:
    pool = inline(ToyConfig(id="masked_branches", agents=2), num_envs)
    spec = next(iter(pool.behavior_specs.values()))
    policy = _Shown(spec)
    result = evaluate({"MaskedBranches": policy}, pool, episodes=12, seed=3)["MaskedBranches"]
    pool.close()
    assert result.returns.tolist() == [1.0] * 12
    assert result.lengths.tolist() == [8] * 12


class _Shown(Policy):
    """Chooses the shown target of each branch, which pays 1 in all."""

    def __init__(self, spec: BehaviorSpec) -> None:
        self.spec = spec

    def act(self, observations: Sequence[Array], action_mask: Any = None, **_: Any) -> Actions:
        assert action_mask is not None
        assert action_mask.shape == observations[0].shape
        shown = np.split(observations[0], np.cumsum(self.spec.action.discrete_branches)[:-1], axis=1)
        return Actions(
            np.zeros((len(observations[0]), 0), np.float32), np.stack([part.argmax(axis=1) for part in shown], axis=1)
        )


def test_agents_remember_within_an_episode_and_start_each_from_zero() -> None:
    pool = inline(ToyConfig(id="ragged", agents=6), 3)
    pool.reset(0)
    policy = _Counting(next(iter(pool.behavior_specs.values())))
    evaluate({"Ragged": policy}, pool, episodes=30, seed=3)
    pool.close()
    assert policy.most > 3


class _Counting(Policy):
    """Remembers how many decisions an agent has taken in its episode, which the toy shows."""

    memory_size = 1

    def __init__(self, spec: BehaviorSpec) -> None:
        self.spec = spec
        self.most = 0.0

    def act(self, observations: Sequence[Array], action_mask: Any = None, *, memory: Any = None, **_: Any) -> Actions:
        np.testing.assert_array_equal(memory[:, 0], observations[0][:, 2])
        self.most = max(self.most, float(memory.max()))
        choice = action_mask.argmax(axis=1)[:, None]
        return Actions(np.zeros((len(memory), 0), np.float32), choice, memory=memory + 1)


class Recorded(WorkerPool):
    """Passes steps on and keeps an account of every agent's episodes of its own, one agent at a time."""

    def __init__(self, pool: WorkerPool) -> None:
        self.pool = pool
        self.open: dict[tuple[str, int], list[float]] = {}
        self.begun: dict[str, list[list[float]]] = {}
        self.first: dict[str, int] = {}

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return self.pool.behavior_specs

    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        return self._note(self.pool.reset(seed, parameters))

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        return self._note(self.pool.step(actions))

    def close(self) -> None:
        self.pool.close()

    def _note(self, steps: EnvironmentSteps) -> EnvironmentSteps:
        for name, part in steps.behaviors.items():
            for row, agent in enumerate(part.terminal.agent_id.tolist()):
                episode = self.open.pop((name, agent), None)
                if episode is not None:
                    episode.append(self._pay(part.terminal, row))
                    episode.append(np.inf)  # It is over.
            for row, agent in enumerate(part.decision.agent_id.tolist()):
                if (name, agent) in self.open:
                    self.open[name, agent].append(self._pay(part.decision, row))
                else:
                    self.open[name, agent] = []
                    self.begun.setdefault(name, []).append(self.open[name, agent])
            if len(part.decision):
                self.first.setdefault(name, len(part.decision))
        return steps

    @staticmethod
    def _pay(steps: DecisionSteps | TerminalSteps, row: int) -> float:
        group = 0.0 if steps.group_reward is None else float(steps.group_reward[row])
        return float(steps.reward[row]) + group


@pytest.mark.parametrize("num_envs", [1, 4])
def test_agents_that_come_and_go_are_measured_like_an_account_of_each_one_says(num_envs: int) -> None:
    names = ("Ragged", "Ragged?team=1", "Late")
    config = ToyConfig(id="ragged", agents=6, behaviors=names, late_after=20, groups=True)
    pool = Recorded(inline(config, num_envs))
    # Behaviors at even places choose, the others have continuous actions.
    numbers = BehaviorSpec(SPEC.observations, ActionSpec(continuous_size=2, bounded=False))
    policies = {name: Chooser(numbers if "?" in name else SPEC) for name in names}
    results = evaluate(policies, pool, episodes=40, seed=4)
    for name in names:
        result = results[name]
        assert result.episodes == -(-40 // pool.first[name]) * pool.first[name]
        over = [(len(e) - 1, sum(e[:-1])) for e in pool.begun[name] if e and e[-1] == np.inf]
        # The results are some of the episodes that ended, in the order of their beginnings, from the first on.
        remaining = iter(over)
        for found in zip(result.lengths.tolist(), result.returns.tolist(), strict=True):
            assert any(found[0] == length and found[1] == pytest.approx(paid) for length, paid in remaining)
    pool.close()
