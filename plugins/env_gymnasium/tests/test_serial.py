"""Single environments, stepped in turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agents_core.errors import EnvironmentFailedError
from agents_env_gymnasium.serial import SerialEnvironment
from gymnasium import spaces
from gymnasium_toys import Counting, Random, Showing, Transition, act, open_config, parts, transitions


def counting(count: int = 2, **config: Any) -> SerialEnvironment:
    environment = open_config(count, entry_point="gymnasium_toys:Counting", **config)
    assert isinstance(environment, SerialEnvironment)
    return environment


def toys(environment: SerialEnvironment) -> list[Any]:
    return [env.unwrapped for env in environment._envs]


def test_every_agent_decides_at_every_step_and_its_id_array_stays_the_same_object() -> None:
    environment = counting(3, kwargs={"lengths": [2, 3]})
    first, terminal = parts(environment.reset(seed=0))
    assert (first.agent_id.tolist(), len(terminal)) == ([0, 1, 2], 0)
    for _ in range(9):
        decision, _ = parts(act(environment, discrete=[[0], [1], [0]]))
        assert decision.agent_id is first.agent_id
        assert decision.reward.shape == (3,)


def test_an_end_gives_the_final_observation_and_then_the_next_episodes_first() -> None:
    environment = counting(1, kwargs={"lengths": [2]})
    assert parts(environment.reset())[0].observations[0].tolist() == [[0, 0]]
    decision, terminal = parts(act(environment, discrete=[[1]]))
    assert (decision.observations[0].tolist(), decision.reward.tolist(), len(terminal)) == ([[0, 1]], [1], 0)
    decision, terminal = parts(act(environment, discrete=[[1]]))
    assert (terminal.agent_id.tolist(), terminal.observations[0].tolist()) == ([0], [[0, 2]])
    assert (terminal.reward.tolist(), terminal.truncated.tolist()) == ([2], [False])
    assert (decision.observations[0].tolist(), decision.reward.tolist()) == ([[1, 0]], [0])


@pytest.mark.parametrize(("end", "truncated"), [("terminated", False), ("truncated", True), ("both", False)])
def test_an_end_by_task_and_limit_at_once_is_the_tasks(end: str, truncated: bool) -> None:
    environment = counting(1, kwargs={"lengths": [1], "end": end})
    environment.reset()
    assert parts(act(environment, discrete=[[0]]))[1].truncated.tolist() == [truncated]


@pytest.mark.parametrize("wrappers", [[], ["OrderEnforcing"]])
def test_the_step_limit_truncates_each_episode_and_loses_to_a_termination(wrappers: list[str]) -> None:
    environment = counting(2, kwargs={"lengths": [3, 9, 4]}, max_episode_steps=4, wrappers=wrappers)
    for ends in transitions(environment, 22).values():
        episodes = [(end.next_observation, end.truncated) for end in ends if end.ended]
        assert episodes == [
            ((0, 3), False),
            ((1, 4), True),
            ((2, 4), False),
            ((3, 3), False),
            ((4, 4), True),
            ((5, 4), False),
        ]


def test_counting_steps_in_the_adapter_equals_gymnasiums_time_limit() -> None:
    streams = [
        transitions(open_config(3, id="Acrobot-v1", vectorization="sync", max_episode_steps=7, wrappers=wrappers), 30)
        for wrappers in ([], ["OrderEnforcing"])
    ]
    assert streams[0] == streams[1]
    assert any(step.truncated for step in streams[0][2])


def test_transitions_are_those_of_the_environment_itself() -> None:
    (stream,) = transitions(counting(1, kwargs={"lengths": [2, 1]}), 4).values()
    assert stream == [
        Transition((0, 0), 1, (0, 1), False, False),
        Transition((0, 1), 2, (0, 2), True, False),
        Transition((1, 0), 1, (1, 1), True, False),
        Transition((2, 0), 1, (2, 1), False, False),
    ]


def test_each_agents_action_reaches_its_own_environment() -> None:
    environment = counting(3, kwargs={"lengths": [99]})
    environment.reset()
    act(environment, discrete=[[0], [1], [0]])
    act(environment, discrete=[[1], [1], [0]])
    assert [[int(action) for action in toy.actions] for toy in toys(environment)] == [[0, 1], [1, 1], [0, 0]]


def test_float64_observations_arrive_as_float32() -> None:
    environment = open_config(2, entry_point="gymnasium_toys:Random")
    decision, _ = parts(environment.reset(seed=0))
    assert decision.observations[0].dtype == np.float32


def test_each_environment_has_a_seed_of_its_own_that_no_neighbouring_run_shares() -> None:
    environment = counting(16)
    seen: list[int] = []
    for seed in range(50):
        environment.reset(seed=seed)
        seen += [toy.seeds[-1] for toy in toys(environment)]
    assert len(set(seen)) == len(seen) == 800
    assert all(0 <= seed < 2**31 for seed in seen)


def test_a_seed_depends_on_the_number_within_the_run_alone() -> None:
    together, apart = counting(4), counting(2, first_env=2)
    together.reset(seed=5)
    apart.reset(seed=5)
    assert [toy.seeds for toy in toys(together)][2:] == [toy.seeds for toy in toys(apart)]


def test_equal_seeds_repeat_and_later_episodes_differ_from_the_first() -> None:
    streams = [transitions(open_config(2, entry_point="gymnasium_toys:Random"), 8) for _ in range(2)]
    assert streams[0] == streams[1]
    starts = [step.observation for stream in streams[0].values() for step in stream[::2]]
    assert len(set(starts)) == len(starts) == 8


def test_a_reset_without_a_seed_goes_on_with_the_generators() -> None:
    environment = open_config(1, entry_point="gymnasium_toys:Random")
    first = parts(environment.reset(seed=3))[0].observations[0].copy()
    assert parts(environment.reset())[0].observations[0].tolist() != first.tolist()
    assert parts(environment.reset(seed=3))[0].observations[0].tolist() == first.tolist()


def test_spaces_are_seeded_too() -> None:
    environment = counting(2)
    samples = []
    for _ in range(2):
        environment.reset(seed=1)
        samples.append([[toy.action_space.sample() for _ in range(20)] for toy in toys(environment)])
    assert samples[0] == samples[1]
    assert samples[0][0] != samples[0][1]


def test_parameters_reach_every_reset_as_options_until_they_change() -> None:
    environment = counting(1, kwargs={"lengths": [1]})
    environment.reset(parameters={"size": 2.0})
    act(environment, discrete=[[0]])
    environment.reset()
    assert toys(environment)[0].options == [{"size": 2.0}, {"size": 2.0}, None]


@pytest.mark.parametrize("what", ["step", "reset"])
def test_an_environment_that_raises_is_named_with_its_cause(what: str) -> None:
    environment = counting(3, first_env=4, kwargs={"lengths": [1]})
    environment.reset()

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the wheel came off")

    if what == "step":
        environment._step_functions[1] = fail
    else:
        toys(environment)[1].reset = fail
    with pytest.raises(
        EnvironmentFailedError, match=rf"environment 5 \(.*Counting\) failed in `{what}`.*the wheel"
    ) as e:
        act(environment, discrete=[[0]] * 3)
    assert isinstance(e.value.__cause__, RuntimeError)


def test_the_old_step_of_four_values_is_refused() -> None:
    environment = counting(2)
    environment.reset()
    environment._step_functions = [lambda _: (np.zeros(2), 0.0, False, {})] * 2
    with pytest.raises(EnvironmentFailedError, match="returned 4 values from `step`, but Gymnasium's API has 5"):
        act(environment, discrete=[[0]] * 2)


def test_an_observation_that_does_not_fit_its_space_is_refused_at_the_first_reset() -> None:
    environment = counting(2, first_env=6)
    toys(environment)[1].observation_space = None
    toys(environment)[1]._observation = lambda: np.zeros(3, np.float32)
    environment._envs[1].observation_space = spaces.Box(0, 1, (2,))
    with pytest.raises(EnvironmentFailedError, match=r"environment 7 .* shape \(3,\), but .* says \(2,\)"):
        environment.reset()


def test_closing_twice_is_allowed() -> None:
    environment = counting(1)
    closed: list[int] = []
    toys(environment)[0].close = lambda: closed.append(1)
    environment.close()
    environment.close()
    assert closed == [1]


def test_nested_spaces_pass_through_a_whole_step() -> None:
    observation_space = spaces.Dict({"a": spaces.Discrete(3, start=2), "b": spaces.Tuple((spaces.MultiBinary(2),))})
    action_space = spaces.Dict({"move": spaces.Box(-2, 2, (2,)), "press": spaces.MultiBinary(2)})
    environment = open_config(
        3,
        entry_point="gymnasium_toys:Showing",
        kwargs={"observation_space": observation_space, "action_space": action_space},
    )
    assert isinstance(environment, SerialEnvironment)
    environment.reset(seed=0)
    decision, _ = parts(act(environment, continuous=np.ones((3, 2)), discrete=np.ones((3, 2))))
    for row, toy in enumerate(toys(environment)):
        shown = toy.shown[-1]
        assert decision.observations[0][row].tolist() == np.eye(3)[shown["a"] - 2].tolist()
        assert decision.observations[1][row].tolist() == shown["b"][0].tolist()


def test_the_toys_are_what_they_say() -> None:
    assert Counting().action_space.contains(1)
    assert Random.observation_space.contains(Random().reset(seed=0)[0])
    assert Showing(spaces.Discrete(2), spaces.Discrete(2)).reset(seed=0)[0] in (0, 1)
