"""A quickened space answers as before."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from agents_env_gymnasium.quick_contains import quicken
from gymnasium import Space, spaces
from gymnasium_toys import act, open_config

SPACES = [
    spaces.Discrete(3),
    spaces.Discrete(3, start=-2),
    spaces.MultiDiscrete([2, 3]),
    spaces.MultiDiscrete([2, 3], start=[-1, 4]),
    spaces.MultiDiscrete(np.array([[2, 3]]), dtype=np.int8),
]
NUMBERS = [kind(value) for value in (-3, -2, -1, 0, 1, 2, 3, 100) for kind in (int, float, np.int64, np.int8, np.int16)]
ARRAYS = [
    np.array(value, dtype)
    for value in ([0, 0], [1, 2], [2, 0], [0, 3], [-1, 4], [0, 6], [-2, 4], [[1, 2]], [[2, 2]], [0], 1)
    for dtype in (np.int64, np.int8, np.float32)
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_every_answer_is_the_same(space: Space[Any]) -> None:
    quick = copy.deepcopy(space)
    quicken(quick)
    quicken(quick)
    for value in [*NUMBERS, *ARRAYS, True, None, "1", [0, 0], (1, 2)]:
        assert quick.contains(value) == space.contains(value), value
        assert type(quick.contains(value)) is bool
    assert quick == space


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_quickened_space_can_be_copied_and_pickled(space: Space[Any]) -> None:
    quick = copy.deepcopy(space)
    quicken(quick)
    for other in (copy.deepcopy(quick), pickle.loads(pickle.dumps(quick))):
        assert other == space
        assert other.contains(space.sample())
        assert not other.contains("nothing")


def test_other_spaces_stay_as_they_are() -> None:
    box = spaces.Box(-1, 1, (2,))
    quicken(box)
    assert "contains" not in vars(box)


@pytest.mark.parametrize("vectorization", ["sync", "own"])
def test_the_environments_of_a_run_are_quickened_and_still_refuse_what_is_illegal(vectorization: Any) -> None:
    environment = open_config(2, id="CartPole-v1", vectorization=vectorization)
    environment.reset(seed=0)
    act(environment, discrete=[[1], [0]])
    hosted = environment._envs[0].unwrapped if vectorization == "sync" else environment._env
    assert "contains" in vars(hosted.action_space)
    with pytest.raises(AssertionError, match="invalid"):
        hosted.step(np.int64(2) if vectorization == "sync" else np.array([0, 2]))
