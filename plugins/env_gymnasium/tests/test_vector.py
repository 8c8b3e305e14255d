"""Vector environments of an environment's own, whatever way they start new episodes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from agents_core.errors import EnvironmentFailedError
from agents_env_gymnasium.vector import VectorEnvironment
from gymnasium_toys import act, open_config, parts, transitions
from hypothesis import given, settings
from hypothesis import strategies as st

MODES = ["NEXT_STEP", "SAME_STEP", "DISABLED"]


def counting(count: int, mode: str, **kwargs: Any) -> VectorEnvironment:
    environment = open_config(
        count,
        entry_point="gymnasium_toys:counting_vector",
        vectorization="own",
        kwargs={"mode": mode, **kwargs},
    )
    assert isinstance(environment, VectorEnvironment)
    return environment


@settings(max_examples=60)
@given(
    lengths=st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3), min_size=1, max_size=4),
    mode=st.sampled_from([*MODES, "batched"]),
    end=st.sampled_from(["terminated", "truncated", "both"]),
)
def test_every_agent_makes_the_same_transitions_as_in_an_environment_of_its_own(
    lengths: list[list[int]], mode: str, end: str
) -> None:
    if mode == "batched":
        config: dict[str, Any] = {"entry_point": "gymnasium_toys:Batched", "kwargs": {"lengths": lengths, "end": end}}
        environment = open_config(len(lengths), vectorization="own", **config)
    else:
        environment = counting(len(lengths), mode, lengths=lengths, end=end)
    streams = transitions(environment, 25)
    assert sorted(streams) == list(range(len(lengths)))
    for agent, stream in streams.items():
        alone = open_config(1, entry_point="gymnasium_toys:Counting", kwargs={"lengths": lengths[agent], "end": end})
        (expected,) = transitions(alone, 25).values()
        assert stream == expected[: len(stream)]
        # No mode loses a decision but `NEXT_STEP`, which spends a step on each reset.
        ends = sum(step.ended for step in stream)
        assert len(stream) >= 25 - (ends if mode == "NEXT_STEP" else 0)


@pytest.mark.parametrize("mode", ["SAME_STEP", "DISABLED"])
def test_where_the_mode_allows_no_agent_is_ever_missing(mode: str) -> None:
    environment = counting(3, mode, lengths=[[1], [2], [3]])
    first, _ = parts(environment.reset(seed=0))
    for _ in range(10):
        assert parts(act(environment, discrete=[[0]] * 3))[0].agent_id is first.agent_id


def test_next_step_leaves_an_agent_out_while_it_is_reset() -> None:
    environment = counting(2, "NEXT_STEP", lengths=[[2], [9]])
    first, _ = parts(environment.reset(seed=0))
    act(environment, discrete=[[0], [0]])
    decision, terminal = parts(act(environment, discrete=[[0], [0]]))
    assert (decision.agent_id.tolist(), terminal.agent_id.tolist()) == ([1], [0])
    decision, terminal = parts(act(environment, discrete=[[1]]))
    assert decision.agent_id is first.agent_id
    assert (decision.observations[0].tolist(), decision.reward.tolist()) == ([[1, 0], [0, 3]], [0, 3])
    assert len(terminal) == 0


def test_next_step_goes_on_where_every_agent_ended_at_once() -> None:
    environment = counting(2, "NEXT_STEP", lengths=[[2]])
    environment.reset(seed=0)
    act(environment, discrete=[[0], [0]])
    decision, terminal = parts(act(environment, discrete=[[0], [0]]))
    assert (decision.agent_id.tolist(), decision.observations[0].tolist()) == ([0, 1], [[1, 0], [1, 0]])
    assert (terminal.agent_id.tolist(), terminal.reward.tolist()) == ([0, 1], [2, 2])


def test_actions_reach_the_rows_they_are_meant_for_while_others_are_reset() -> None:
    environment = counting(3, "NEXT_STEP", lengths=[[1], [9], [9]])
    environment.reset(seed=0)
    act(environment, discrete=[[0], [0], [0]])
    act(environment, discrete=[[1], [0]])
    act(environment, discrete=[[0], [0], [1]])
    kept = [[int(action) for action in env.actions] for env in environment._env.envs]
    assert kept == [[0, 0], [0, 1, 0], [0, 0, 1]]


def test_an_episode_that_ends_in_its_reset_ends_for_nobody() -> None:
    environment = counting(2, "NEXT_STEP", lengths=[[1], [9]])
    environment.reset(seed=0)
    act(environment, discrete=[[0], [0]])
    step = environment._env.step

    def ending(actions: Any) -> Any:
        observation, reward, _, truncated, info = step(actions)
        return observation, reward, np.array([True, False]), truncated, info

    environment._env.step = ending
    decision, terminal = parts(act(environment, discrete=[[0]]))
    assert (decision.agent_id.tolist(), len(terminal)) == ([1], 0)


def test_an_episode_that_a_reset_cuts_off_leaves_nothing_behind() -> None:
    environment = counting(2, "NEXT_STEP", lengths=[[1], [9]])
    environment.reset(seed=0)
    act(environment, discrete=[[0], [0]])
    decision, terminal = parts(environment.reset(seed=0))
    assert (len(decision), len(terminal)) == (2, 0)
    decision, _ = parts(act(environment, discrete=[[0], [0]]))
    assert decision.agent_id.tolist() == [1]


def test_cartpoles_own_version_never_shows_a_learner_the_row_of_a_reset() -> None:
    environment = open_config(5, id="CartPole-v1", vectorization="own")
    assert isinstance(environment, VectorEnvironment)
    for choice in (0, 1):
        for stream in transitions(environment, 200, choice).values():
            assert sum(step.ended for step in stream) > 10
            for step in stream:
                np.testing.assert_allclose(step.next_observation, cartpole(step.observation, choice), atol=1e-5)


def cartpole(observation: tuple[float, ...], action: int) -> list[float]:
    """Barto, Sutton and Anderson (1983): one Euler step of 0.02 s; 10 N, cart 1 kg, pole 0.1 kg and 2 · 0.5 m."""
    x, v, angle, spin = observation
    push = (10.0 if action else -10.0) + 0.05 * spin**2 * math.sin(angle)
    spinning = (9.8 * math.sin(angle) - math.cos(angle) * push / 1.1) / (
        0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1)
    )
    moving = push / 1.1 - 0.05 * spinning * math.cos(angle) / 1.1
    return [x + 0.02 * v, v + 0.02 * moving, angle + 0.02 * spin, spin + 0.02 * spinning]


def test_cartpoles_own_version_is_cut_off_at_its_registered_limit() -> None:
    environment = open_config(3, id="CartPole-v1", vectorization="own")
    decision, _ = parts(environment.reset(seed=1))
    lengths = []
    for tick in range(1, 502):
        balancing = (decision.observations[0] @ np.array([0.1, 0.5, 1.0, 1.2], np.float32) > 0).astype(np.int64)
        decision, terminal = parts(act(environment, discrete=balancing[:, None]))
        lengths += [(tick, bool(truncated)) for truncated in terminal.truncated]
    assert lengths == [(500, True)] * 3


def test_a_seed_repeats_and_neighbouring_seeds_share_nothing() -> None:
    environment = open_config(4, id="CartPole-v1", vectorization="own")
    starts = [parts(environment.reset(seed=seed))[0].observations[0].tolist() for seed in (0, 1, 2, 0)]
    assert starts[0] == starts[3]
    assert len({tuple(row) for rows in starts[:3] for row in rows}) == 12


def test_same_step_without_final_observations_is_refused() -> None:
    environment = counting(2, "SAME_STEP", lengths=[[1]])
    environment.reset()
    step = environment._env.step
    environment._env.step = lambda actions: (*step(actions)[:4], {})
    with pytest.raises(EnvironmentFailedError, match=r"without info\['final_obs'\]"):
        act(environment, discrete=[[0], [0]])


@pytest.mark.parametrize("what", ["step", "reset"])
def test_a_vector_environment_that_raises_is_named(what: str) -> None:
    environment = counting(2, "DISABLED", lengths=[[1]])
    environment.reset()

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the wheel came off")

    setattr(environment._env, what, fail)
    with pytest.raises(EnvironmentFailedError, match=rf"counting_vector\) failed in `{what}`.*the wheel came off"):
        act(environment, discrete=[[0], [0]])


@pytest.mark.parametrize("mode", MODES)
def test_parameters_reach_resets_as_options(mode: str) -> None:
    environment = counting(2, mode, lengths=[[1], [9]])
    environment.reset(seed=0, parameters={"size": 2.0})
    options = [env.options for env in environment._env.envs]
    assert options == [[{"size": 2.0}]] * 2
    act(environment, discrete=[[0], [0]])
    if mode == "DISABLED":
        assert options[0][-1] == {"size": 2.0}


def test_closing_twice_is_allowed() -> None:
    environment = counting(2, "NEXT_STEP")
    environment.close()
    environment.close()
