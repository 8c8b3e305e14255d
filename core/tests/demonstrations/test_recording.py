"""A recorded evaluation holds exactly the episodes that were measured, step by step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from agents_core.columns import Array
from agents_core.contracts.demonstration import Demonstration
from agents_core.contracts.environment import Actions, DecisionSteps, TerminalSteps
from agents_core.contracts.policy import Policy
from agents_core.contracts.worker_pool import WorkerPoolContext
from agents_core.demonstrations import check_demonstration, episode_returns
from agents_core.demonstrations.recording import EpisodeRecorder
from agents_core.environments.config import InlineConfig
from agents_core.environments.inline import InlinePool
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.ragged import expected_reward
from agents_core.testing.toy_config import ToyConfig
from agents_core.testing.toy_factory import ToyMaker
from agents_core.training.evaluation import EvaluationResult, evaluate


class Random(Policy):
    """Random choices that the mask allows."""

    def __init__(self, spec: BehaviorSpec) -> None:
        self.spec = spec

    def act(
        self,
        observations: Sequence[Array],
        action_mask: npt.NDArray[np.bool_] | None = None,
        *,
        memory: npt.NDArray[np.float32] | None = None,  # noqa: ARG002
        deterministic: bool = False,  # noqa: ARG002
        generator: np.random.Generator | None = None,
    ) -> Actions:
        assert generator is not None
        rows = len(observations[0])
        continuous = generator.uniform(-1, 1, (rows, self.spec.action.continuous_size)).astype(np.float32)
        discrete = np.zeros((rows, len(self.spec.action.discrete_branches)), np.int64)
        if action_mask is not None:
            discrete = np.argmax(generator.random(action_mask.shape) * action_mask, axis=1)[:, None]
        return Actions(continuous, discrete)


def recorded(behaviors: tuple[str, ...], episodes: int, **options: bool) -> dict[str, EvaluationResult]:
    config = ToyConfig(id="ragged", agents=12, behaviors=behaviors, **options)
    pool = InlinePool(WorkerPoolContext(InlineConfig(), 6, False, ToyMaker(config)))
    pool.reset(0)
    policies = {name: Random(spec) for name, spec in pool.behavior_specs.items()}
    return evaluate(policies, pool, episodes=episodes, seed=4, record=True)


def demonstration(result: EvaluationResult) -> Demonstration:
    assert result.demonstration is not None
    check_demonstration(result.demonstration, "recording")
    return result.demonstration


@pytest.mark.parametrize("groups", [False, True])
def test_every_row_is_what_its_agent_saw_did_and_was_paid(groups: bool) -> None:
    for name, result in recorded(("Ragged", "Other"), 18, groups=groups, image=True).items():
        made = demonstration(result)
        columns, lengths = made.episodes.columns, made.episodes.lengths
        who, time = columns["obs.0"][:, 0], columns["obs.0"][:, 2]
        starts = np.cumsum(lengths) - lengths
        np.testing.assert_array_equal(time, np.arange(len(made)) - np.repeat(starts, lengths))
        np.testing.assert_array_equal(columns["obs.0"][:, :2], np.repeat(columns["obs.0"][starts, :2], lengths, axis=0))
        np.testing.assert_array_equal(columns["obs.1"][:, 0, 0, 0], who % 256)
        finals = made.episodes.final_observations[0]
        np.testing.assert_array_equal(finals[:, 2], lengths)
        np.testing.assert_array_equal(finals[:, :2], columns["obs.0"][starts, :2])
        if name == "Ragged":
            done = columns["action.discrete"][:, 0].astype(np.float32)
            allowed = np.take_along_axis(columns["action_mask"], columns["action.discrete"], axis=1)
            assert allowed.all()
            assert not columns["action_mask"].all()
        else:
            done = columns["action.continuous"].sum(axis=1, dtype=np.float32)
            assert "action_mask" not in columns
        np.testing.assert_array_equal(columns["reward"], expected_reward(who, time, done))
        assert made.behavior == name


@pytest.mark.parametrize("groups", [False, True])
def test_the_episodes_are_those_that_were_measured(groups: bool) -> None:
    for result in recorded(("Ragged", "Other"), 12, groups=groups).values():
        made = demonstration(result)
        np.testing.assert_array_equal(made.episodes.lengths, result.lengths)
        np.testing.assert_allclose(episode_returns(made), result.returns, rtol=1e-6)
        columns = made.episodes.columns
        assert 0 < columns["truncated"].sum() < len(result.lengths)
        assert ("group_id" in columns) == groups
        assert columns["agent_id"].max() < len(result.lengths)


def test_the_measure_is_the_same_without_recording() -> None:
    config = ToyConfig(id="ragged", agents=5)
    measured = []
    for record in (False, True):
        pool = InlinePool(WorkerPoolContext(InlineConfig(), 2, False, ToyMaker(config)))
        pool.reset(0)
        policies = {name: Random(spec) for name, spec in pool.behavior_specs.items()}
        measured.append(evaluate(policies, pool, episodes=6, seed=1, record=record)["Ragged"])
    assert measured[0].demonstration is None
    np.testing.assert_array_equal(measured[0].returns, measured[1].returns)


def test_what_ends_by_a_limit_is_truncated_and_what_has_no_number_is_passed_over() -> None:
    spec = BehaviorSpec((ObservationSpec("x", (1,)),), ActionSpec(1))
    recorder = EpisodeRecorder(spec)

    def seen(*places: float) -> tuple[Array]:
        return (np.array(places, np.float32)[:, None],)

    numbers, agents = np.array([1, -1, 0]), np.array([30, 40, 50])
    actions = Actions(np.array([[0.1], [0.2], [0.3]], np.float32), np.zeros((3, 0), np.int64))
    recorder.act(numbers, DecisionSteps(agents, seen(1, 2, 3), np.zeros(3, np.float32)), actions)
    ended = TerminalSteps(agents, seen(4, 5, 6), np.array([7, 8, 9], np.float32), np.array([True, True, False]))
    recorder.end(np.array([0, 1]), ended, np.array([2, 0]))
    episodes = recorder.demonstration("two").episodes
    columns = episodes.columns
    assert columns["obs.0"].tolist() == [[3], [1]]
    assert episodes.final_observations[0].tolist() == [[6], [4]]
    assert columns["reward"].tolist() == [9, 7]
    assert columns["terminated"].tolist() == [True, False]
    assert columns["truncated"].tolist() == [False, True]
    assert columns["agent_id"].tolist() == [1, 0]
