"""Action masks in every form an environment may give them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from agents_core.errors import EnvironmentFailedError, UserError
from agents_env_gymnasium.actions import ActionLayout
from agents_env_gymnasium.masks import MaskReader
from gymnasium import Space, spaces
from gymnasium_toys import Showing, act, open_config, parts


def reader(space: Space[Any]) -> MaskReader:
    return MaskReader(ActionLayout(space).root)


HYBRID = spaces.Dict(
    {"jump": spaces.Discrete(2), "move": spaces.MultiDiscrete([2, 3]), "speed": spaces.Box(-1, 1, (1,))}
)


@pytest.mark.parametrize(
    ("space", "mask", "expected"),
    [
        (spaces.Discrete(3), np.array([1, 0, 1], np.int8), [1, 0, 1]),
        (spaces.Discrete(3), [True, False, True], [1, 0, 1]),
        (spaces.Discrete(3), np.array([2.0, 0.0, -1.0]), [1, 0, 1]),
        (spaces.Discrete(3), None, [1, 1, 1]),
        (spaces.MultiDiscrete([2, 3]), np.array([0, 1, 1, 1, 0]), [0, 1, 1, 1, 0]),
        (spaces.MultiDiscrete([2, 3]), (np.array([0, 1]), np.array([1, 1, 0])), [0, 1, 1, 1, 0]),
        (spaces.MultiDiscrete([2, 3]), [[0, 1], [1, 1, 0]], [0, 1, 1, 1, 0]),
        (spaces.MultiDiscrete([2, 2]), np.array([[0, 1], [1, 1]]), [0, 1, 1, 1]),
        (spaces.MultiBinary(2), np.array([[1, 0], [0, 1]]), [1, 0, 0, 1]),
        (HYBRID, np.array([1, 0, 0, 1, 1, 1, 0]), [1, 0, 0, 1, 1, 1, 0]),
        (HYBRID, {"move": ([0, 1], [1, 1, 0]), "jump": [1, 0]}, [1, 0, 0, 1, 1, 1, 0]),
        (HYBRID, {"jump": [1, 0]}, [1, 0, 1, 1, 1, 1, 1]),
        (spaces.Tuple((HYBRID, spaces.Discrete(2))), ({"jump": [0, 1]}, [1, 0]), [0, 1, 1, 1, 1, 1, 1, 1, 0]),
        (spaces.Tuple((spaces.Discrete(2), spaces.Discrete(2))), (None, [1, 0]), [1, 1, 1, 0]),
        (spaces.Tuple((spaces.Discrete(2), spaces.Discrete(2))), [0, 1, 1, 0], [0, 1, 1, 0]),
    ],
)
def test_a_mask_allows_the_choices_it_names(space: Space[Any], mask: Any, expected: list[int]) -> None:
    masks = reader(space).read_rows([mask, None])
    assert masks.dtype == np.bool_
    assert masks.astype(int).tolist() == [expected, [1] * len(expected)]


def test_masks_of_a_vector_environment_come_as_an_array_in_parts_or_one_by_one() -> None:
    expected = [[1, 0, 0, 1, 1, 1, 0], [0, 1, 1, 1, 1, 0, 1]]
    jump, move = np.array([[1, 0], [0, 1]]), np.array([[0, 1, 1, 1, 0], [1, 1, 1, 0, 1]])
    rows = np.empty(2, dtype=object)
    rows[:] = [(jump[0],), (jump[1],)]
    read = reader(HYBRID)
    assert read.read_batch(np.array(expected), 2).astype(int).tolist() == expected
    assert read.read_batch({"jump": jump, "move": move, "_move": np.ones(2)}, 2).astype(int).tolist() == expected
    assert reader(spaces.MultiDiscrete([2])).read_batch(rows, 2).astype(int).tolist() == jump.tolist()
    pair = spaces.Tuple((spaces.Discrete(2), spaces.MultiDiscrete([2, 3])))
    assert reader(pair).read_batch((jump, move), 2).astype(int).tolist() == expected


def test_a_mask_of_another_size_is_refused_with_both_sizes() -> None:
    with pytest.raises(EnvironmentFailedError, match=r"holds 2 numbers, but the branches \[3\] have 3 choices"):
        reader(spaces.Discrete(3)).read_rows([np.array([1, 0])])
    with pytest.raises(EnvironmentFailedError, match=r"parts \['jmp'\], but the action space has \['jump'"):
        reader(HYBRID).read_rows([{"jmp": [1, 0]}])


def test_a_mask_with_nothing_legal_names_environment_and_branch() -> None:
    masks = np.array([[1, 0, 1, 1, 1], [1, 1, 0, 0, 0]], np.bool_)
    read = reader(spaces.MultiDiscrete([2, 3]))
    read.check(masks[:1], np.array([4]))
    with pytest.raises(EnvironmentFailedError, match="environment 9: the action mask allows nothing in branch 1"):
        read.check(masks, np.array([4, 9]))


@pytest.mark.parametrize("source", ["info", "method"])
@pytest.mark.parametrize("vectorization", ["sync", "NEXT_STEP", "SAME_STEP", "DISABLED"])
def test_the_mask_belongs_to_the_state_in_which_the_agent_decides(source: str, vectorization: str) -> None:
    if vectorization == "sync":
        environment = open_config(2, entry_point="gymnasium_toys:Counting", kwargs={"lengths": [2, 5], "masks": source})
    else:
        kwargs = {"mode": vectorization, "lengths": [[3], [2, 5]], "masks": source}
        environment = open_config(2, entry_point="gymnasium_toys:counting_vector", vectorization="own", kwargs=kwargs)
    decision, _ = parts(environment.reset(seed=0))
    for _ in range(20):
        assert decision.action_mask is not None
        counts = decision.observations[0][:, 1].astype(int)
        assert decision.action_mask.tolist() == np.eye(2, dtype=bool)[counts % 2].tolist()
        decision, _ = parts(act(environment, discrete=np.zeros((len(decision), 1))))


def test_an_observation_called_action_mask_is_the_mask() -> None:
    observation = spaces.Dict({"state": spaces.Box(0, 1, (1,)), "action_mask": spaces.MultiBinary(1)})
    environment = open_config(
        entry_point="gymnasium_toys:Showing",
        kwargs={"observation_space": observation, "action_space": spaces.MultiDiscrete([1])},
    )
    environment._envs[0].unwrapped._observation = lambda: {
        "state": np.zeros(1, np.float32),
        "action_mask": np.ones(1, np.int8),
    }
    decision, _ = parts(environment.reset())
    assert [spec.name for spec in environment.behavior_specs["default"].observations] == ["state"]
    assert decision.action_mask is not None
    assert decision.action_mask.tolist() == [[True]]


def test_a_mask_for_continuous_actions_is_refused() -> None:
    observation = spaces.Dict({"state": spaces.Box(0, 1, (1,)), "action_mask": spaces.MultiBinary(1)})
    kwargs = {"observation_space": observation, "action_space": spaces.Box(-1, 1)}
    with pytest.raises(UserError, match="'action_mask' is taken for the mask of discrete actions, but"):
        open_config(entry_point="gymnasium_toys:Showing", kwargs=kwargs)
    assert Showing(**kwargs).observation_space == observation


def test_taxi_gives_masks_of_its_own() -> None:
    (identifier,) = [known for known in gymnasium.registry if known.startswith("Taxi-v")]
    environment = open_config(2, id=identifier)
    decision, _ = parts(environment.reset(seed=0))
    assert decision.action_mask is not None
    assert decision.action_mask.shape == (2, 6)
    for row, one_hot in enumerate(decision.observations[0]):
        taxi = environment._envs[row].unwrapped
        assert decision.action_mask[row].astype(int).tolist() == taxi.action_mask(int(one_hot.argmax())).tolist()
