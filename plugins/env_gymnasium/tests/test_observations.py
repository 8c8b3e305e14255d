"""Observation spaces become the columns that the table in `observations.py` says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agents_core.errors import EnvironmentFailedError, UserError
from agents_env_gymnasium.observations import ObservationLayout
from gymnasium import Space, spaces
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array
from hypothesis import given
from hypothesis import strategies as st


def encode(space: Space[Any], observations: list[Any]) -> list[list[Any]]:
    """The columns of single environments' observations, equal to those of a vector environment's."""
    layout = ObservationLayout(space)
    columns = layout.empty(len(observations))
    layout.write_rows(observations, columns)
    batch = concatenate(space, observations, create_empty_array(space, len(observations)))
    for spec, column, from_batch in zip(layout.specs, columns, layout.from_batch(batch), strict=True):
        assert column.shape == from_batch.shape == (len(observations), *spec.shape)
        assert column.dtype == from_batch.dtype == spec.numpy_dtype
        np.testing.assert_array_equal(column, from_batch)
    return [column.tolist() for column in columns]


def test_a_box_becomes_a_float32_vector_flattened_in_row_order() -> None:
    space = spaces.Box(-9, 9, (2, 3), np.float64)
    first = np.arange(6, dtype=np.float64).reshape(2, 3)
    assert encode(space, [first, -first]) == [[[0, 1, 2, 3, 4, 5], [0, -1, -2, -3, -4, -5]]]
    (spec,) = ObservationLayout(space).specs
    assert (spec.name, spec.shape, spec.dtype, spec.kind) == ("observation", (6,), "float32", "vector")


def test_a_box_without_axes_is_one_number() -> None:
    space = spaces.Box(-9, 9, (), np.int32)
    assert encode(space, [np.array(3, np.int32), np.array(-4, np.int32)]) == [[[3], [-4]]]


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.int64, np.uint8, np.bool_])
def test_numbers_of_every_dtype_become_float32(dtype: type[np.generic]) -> None:
    space = spaces.Box(0, 1, (3,), dtype)
    assert encode(space, [np.array([0, 1, 1], dtype)]) == [[[0.0, 1.0, 1.0]]]


@pytest.mark.parametrize("start", [-5, 0, 7])
def test_a_discrete_is_one_hot_counted_from_its_start(start: int) -> None:
    space = spaces.Discrete(3, start=start)
    assert encode(space, [np.int64(start), np.int64(start + 2)]) == [[[1, 0, 0], [0, 0, 1]]]


def test_a_multi_discrete_of_any_shape_is_one_block_for_each_number() -> None:
    space = spaces.MultiDiscrete(np.array([[2], [3]]), start=np.array([[0], [-1]]))
    assert encode(space, [np.array([[1], [-1]]), np.array([[0], [1]])]) == [[[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]]


def test_a_multi_binary_of_any_shape_is_a_vector() -> None:
    space = spaces.MultiBinary((2, 2))
    assert encode(space, [np.array([[1, 0], [0, 1]], np.int8)]) == [[[1, 0, 0, 1]]]


def test_leaves_of_nested_spaces_are_named_by_their_path() -> None:
    space = spaces.Dict(
        {
            "arm": spaces.Dict({"joints": spaces.Box(-1, 1, (2,)), "mode": spaces.Discrete(2)}),
            "pair": spaces.Tuple((spaces.Box(-1, 1, (1,)), spaces.MultiBinary(1))),
        }
    )
    layout = ObservationLayout(space)
    assert [spec.name for spec in layout.specs] == ["arm.joints", "arm.mode", "pair.0", "pair.1"]
    observation = {
        "arm": {"joints": np.array([0.5, -0.5], np.float32), "mode": np.int64(1)},
        "pair": (np.array([0.25], np.float32), np.array([1], np.int8)),
    }
    assert encode(space, [observation]) == [[[0.5, -0.5]], [[0, 1]], [[0.25]], [[1]]]


def test_the_action_mask_is_no_observation() -> None:
    space = spaces.Dict({"board": spaces.MultiBinary(3), "action_mask": spaces.MultiBinary(2)})
    layout = ObservationLayout(space)
    assert [spec.name for spec in layout.specs] == ["board"]
    assert layout.has_mask
    nested = ObservationLayout(spaces.Dict({"inner": space}))
    assert [spec.name for spec in nested.specs] == ["inner.action_mask", "inner.board"]
    assert not nested.has_mask


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Text(5), "observation 'observation' is a Text space"),
        (spaces.Dict({"words": spaces.Text(5)}), "observation 'words' is a Text space"),
        (spaces.Graph(spaces.Discrete(2), None), "is a Graph space"),
        (spaces.Sequence(spaces.Discrete(2)), "is a Sequence space"),
        (spaces.OneOf((spaces.Discrete(2), spaces.Box(0, 1))), "is a OneOf space"),
        (spaces.Discrete(10**9), "one-hot vector of 1000000000 numbers"),
        (spaces.Box(0, 1, (0,)), "observation 'observation' is empty"),
        (spaces.Dict({"action_mask": spaces.MultiBinary(2)}), "holds no observation"),
        (spaces.Dict({"a.b": spaces.Discrete(2), "a": spaces.Dict({"b": spaces.Discrete(2)})}), "called a.b"),
    ],
)
def test_what_has_no_fixed_columns_is_refused_by_name_with_what_to_do(space: Space[Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        ObservationLayout(space)
    assert "wrapper" in str(error.value)


def test_a_layout_for_an_observation_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match="there is no observation camra; there are camera"):
        ObservationLayout(spaces.Dict({"camera": spaces.Box(0, 255, (8, 8, 3), np.uint8)}), {"camra": "channels_last"})


def test_an_observation_of_another_shape_or_without_a_part_is_named() -> None:
    layout = ObservationLayout(spaces.Dict({"a": spaces.Box(-1, 1, (2,)), "b": spaces.Discrete(2)}))
    layout.check({"a": np.zeros(2), "b": 0})
    with pytest.raises(EnvironmentFailedError, match=r"'a' has shape \(3,\), but the observation space says \(2,\)"):
        layout.check({"a": np.zeros(3), "b": 0})
    with pytest.raises(EnvironmentFailedError, match="'b' is missing"):
        layout.check({"a": np.zeros(2)})


def test_a_choice_outside_of_its_space_is_never_written_into_a_neighbour() -> None:
    layout = ObservationLayout(spaces.MultiDiscrete([2, 2]))
    with pytest.raises(EnvironmentFailedError, match="outside of its space"):
        layout.write_rows([np.array([2, 0])], layout.empty(1))


leaves = st.one_of(
    st.builds(
        lambda shape, dtype: spaces.Box(0, 1, shape, dtype),
        st.lists(st.integers(1, 3), max_size=2).map(tuple),
        st.sampled_from([np.float16, np.float32, np.float64, np.uint8, np.int16]),
    ),
    st.builds(lambda n, start: spaces.Discrete(n, start=start), st.integers(1, 5), st.integers(-9, 9)),
    st.builds(lambda nvec: spaces.MultiDiscrete(np.array(nvec)), st.lists(st.integers(1, 4), min_size=1, max_size=3)),
    st.builds(spaces.MultiBinary, st.integers(1, 4)),
)
nested_spaces = st.recursive(
    leaves,
    lambda children: st.one_of(
        st.dictionaries(st.sampled_from(["a", "b", "c"]), children, min_size=1, max_size=3).map(spaces.Dict),
        st.lists(children, min_size=1, max_size=3).map(lambda parts: spaces.Tuple(tuple(parts))),
    ),
    max_leaves=5,
)


@given(space=nested_spaces, count=st.integers(1, 4), seed=st.integers(0, 2**31))
def test_rows_of_any_space_equal_the_batch_and_lose_nothing(space: Space[Any], count: int, seed: int) -> None:
    space.seed(seed)
    observations = [space.sample() for _ in range(count)]
    encode(space, observations)
    assert batch_space(space, count) is not None
    layout = ObservationLayout(space)
    one_by_one = layout.empty(count)
    layout.write_rows(observations, one_by_one)
    for number, observation in enumerate(observations):
        alone = layout.empty(1)
        layout.write_rows([observation], alone)
        for column, own in zip(one_by_one, alone, strict=True):
            np.testing.assert_array_equal(column[number], own[0])
