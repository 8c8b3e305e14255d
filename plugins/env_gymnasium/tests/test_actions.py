"""Every action that reaches an environment lies in its action space and means what the policy meant."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from agents_core.contracts.environment import Actions
from agents_core.errors import UserError
from agents_env_gymnasium.actions import ActionLayout
from gymnasium import Space, spaces
from gymnasium.vector.utils import batch_space, iterate
from hypothesis import given, settings
from hypothesis import strategies as st


def rows_of(space: Space[Any], continuous: Any = None, discrete: Any = None) -> list[Any]:
    rows = len(continuous if continuous is not None else discrete)
    actions = Actions(
        np.zeros((rows, 0), np.float32) if continuous is None else np.asarray(continuous, np.float32),
        np.zeros((rows, 0), np.int64) if discrete is None else np.asarray(discrete, np.int64),
    )
    return list(ActionLayout(space).rows(actions))


def test_a_bounded_box_is_stretched_to_its_bounds_and_clipped_to_them() -> None:
    space = spaces.Box(np.array([0.0, -4.0], np.float32), np.array([10.0, 2.0], np.float32))
    rows = rows_of(space, continuous=[[-1, 1], [0, 0], [0.5, -0.5], [7, -7]])
    assert [row.tolist() for row in rows] == [[0, 2], [5, -1], [7.5, -2.5], [10, -4]]
    assert ActionLayout(space).spec.bounded


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bound", [np.inf, float(np.finfo(np.float32).max)])
def test_an_unbounded_box_is_passed_through_unscaled(dtype: type[np.floating[Any]], bound: float) -> None:
    space = spaces.Box(-bound, bound, (2,), dtype)
    assert [row.tolist() for row in rows_of(space, continuous=[[3, -250]])] == [[3, -250]]
    assert not ActionLayout(space).spec.bounded


def test_a_half_bounded_dimension_is_unscaled_and_clipped_while_its_neighbour_is_stretched() -> None:
    space = spaces.Box(np.array([0, 0], np.float32), np.array([np.inf, 10], np.float32))
    assert [row.tolist() for row in rows_of(space, continuous=[[-3, 0], [30, 1]])] == [[0, 5], [30, 10]]
    assert not ActionLayout(space).spec.bounded


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint8, np.int64])
def test_a_box_action_has_the_dtype_and_shape_of_its_space(dtype: type[np.generic]) -> None:
    space = spaces.Box(0, 100, (2, 2), dtype)
    (row,) = rows_of(space, continuous=[[-1, 1, 0, 0.5]])
    assert row.dtype == dtype
    assert row.tolist() == [[0, 100], [50, 75]]


def test_whole_numbers_are_rounded_to_the_nearest() -> None:
    space = spaces.Box(-2, 2, (3,), np.int32)
    assert rows_of(space, continuous=[[0.26, -0.26, 0.24]])[0].tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [(-(2**63) + 1, 2**63 - 2, np.int64), (2**62 + 1, 2**63 - 2, np.int64), (2**55 + 1, 2**62 - 1, np.uint64)],
)
def test_bounds_that_no_float_can_hold_are_kept(low: int, high: int, dtype: type[np.generic]) -> None:
    space = spaces.Box(low, high, (1,), dtype)
    for row in rows_of(space, continuous=[[-1], [1], [-2], [2]]):
        assert space.contains(row)


def test_a_number_too_large_for_the_dtype_becomes_its_largest() -> None:
    space = spaces.Box(-np.inf, np.inf, (2,), np.float16)
    assert rows_of(space, continuous=[[1e6, -1e6]])[0].tolist() == [65504, -65504]


@pytest.mark.parametrize("start", [-3, 0, 5])
def test_a_discrete_counts_from_its_start(start: int) -> None:
    space = spaces.Discrete(4, start=start)
    assert rows_of(space, discrete=[[0], [3]]) == [start, start + 3]
    assert ActionLayout(space).spec.discrete_branches == (4,)


@pytest.mark.skipif("dtype" not in inspect.signature(spaces.Discrete).parameters, reason="newer Gymnasium only")
def test_a_discrete_has_the_dtype_of_its_space() -> None:
    space = spaces.Discrete(100, start=-100, dtype=np.int8)
    (row,) = rows_of(space, discrete=[[99]])
    assert (row, row.dtype, space.contains(row)) == (-1, np.int8, True)


def test_a_multi_discrete_of_any_shape_counts_from_its_starts() -> None:
    space = spaces.MultiDiscrete(np.array([[2, 3], [4, 5]]), start=np.array([[0, 10], [-4, 1]]))
    assert ActionLayout(space).spec.discrete_branches == (2, 3, 4, 5)
    assert rows_of(space, discrete=[[1, 2, 3, 4]])[0].tolist() == [[1, 12], [-1, 5]]


def test_a_multi_binary_is_a_branch_of_two_for_each_bit() -> None:
    space = spaces.MultiBinary((2, 2))
    assert ActionLayout(space).spec.discrete_branches == (2, 2, 2, 2)
    assert rows_of(space, discrete=[[1, 0, 0, 1]])[0].tolist() == [[1, 0], [0, 1]]


def test_a_hybrid_space_takes_its_parts_in_the_order_of_the_space() -> None:
    space = spaces.Dict(
        {
            "turn": spaces.Box(-2, 2, (1,)),
            "gear": spaces.Discrete(3, start=1),
            "inner": spaces.Tuple((spaces.MultiBinary(2), spaces.Box(0, 1, (2,)))),
        }
    )
    layout = ActionLayout(space)
    # Gymnasium sorts the keys: gear, inner, turn.
    assert (layout.spec.continuous_size, layout.spec.discrete_branches) == (3, (3, 2, 2))
    (row,) = rows_of(space, continuous=[[-1, 1, 0.5]], discrete=[[2, 0, 1]])
    assert row["gear"] == 3
    assert row["turn"].tolist() == [1]
    assert [part.tolist() for part in row["inner"]] == [[0, 1], [0, 1]]
    assert space.contains(row)


def test_an_action_is_never_overwritten_by_the_next_one() -> None:
    layout = ActionLayout(spaces.Box(-1, 1, (1,)))
    actions = Actions(np.full((1, 1), 0.5, np.float32), np.zeros((1, 0), np.int64))
    (kept,) = layout.rows(actions)
    actions.continuous[:] = -0.5
    layout.rows(actions)
    assert kept.tolist() == [0.5]


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Text(5), "the action space is a Text space"),
        (spaces.Dict({"say": spaces.Text(5)}), r"the action space\['say'\] is a Text space"),
        (spaces.Tuple((spaces.Discrete(2), spaces.Sequence(spaces.Discrete(2)))), r"space\[1\] is a Sequence space"),
        (spaces.OneOf((spaces.Discrete(2), spaces.Discrete(3))), "is a OneOf space"),
        (spaces.Graph(spaces.Discrete(2), None), "is a Graph space"),
        (spaces.Discrete(10**9), "branch of 1000000000 choices"),
        (spaces.Box(0, 1, (0,)), "leaves nothing to choose"),
        (spaces.Dict({}), "leaves nothing to choose"),
    ],
)
def test_what_no_policy_can_act_in_is_refused_by_name(space: Space[Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        ActionLayout(space)


FLOATS = (np.float16, np.float32, np.float64)
WHOLES = (np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64)


@st.composite
def boxes(draw: st.DrawFn) -> spaces.Box:
    dtype = draw(st.sampled_from((*FLOATS, *WHOLES, np.bool_)))
    shape = draw(st.lists(st.integers(1, 3), max_size=2).map(tuple))
    size = int(np.prod(shape))
    if dtype in FLOATS:
        width = np.finfo(dtype).bits
        number = st.floats(allow_nan=False, allow_infinity=True, width=width)
    elif dtype is np.bool_:
        number = st.integers(0, 1)
    else:
        # Gymnasium keeps one number free at the top of int64.
        number = st.integers(np.iinfo(dtype).min, min(np.iinfo(dtype).max, 2**63 - 2))
    pairs = [sorted((draw(number), draw(number))) for _ in range(size)]
    low, high = (np.array([pair[side] for pair in pairs], dtype).reshape(shape) for side in (0, 1))
    low[low == np.inf], high[high == -np.inf] = 0, 0
    return spaces.Box(low, high, shape, dtype)


choices = st.one_of(
    st.builds(lambda n, start: spaces.Discrete(n, start=start), st.integers(1, 5), st.integers(-9, 9)),
    st.lists(st.tuples(st.integers(1, 4), st.integers(-5, 5)), min_size=1, max_size=4).map(
        lambda pairs: spaces.MultiDiscrete([n for n, _ in pairs], start=[start for _, start in pairs])
    ),
    st.builds(lambda shape: spaces.MultiBinary(shape), st.lists(st.integers(1, 2), min_size=1, max_size=2)),
)
action_spaces = st.recursive(
    st.one_of(boxes(), choices),
    lambda children: st.one_of(
        st.dictionaries(st.sampled_from(["a", "b", "c"]), children, min_size=1, max_size=3).map(spaces.Dict),
        st.lists(children, min_size=1, max_size=3).map(lambda parts: spaces.Tuple(tuple(parts))),
    ),
    max_leaves=4,
)


@settings(max_examples=300)
@given(space=action_spaces, data=st.data())
def test_every_action_lies_in_its_space(space: Space[Any], data: st.DataObject) -> None:
    layout = ActionLayout(space)
    count = data.draw(st.integers(1, 3))
    number = st.one_of(
        st.sampled_from([-1.0, 1.0, 0.0, np.nextafter(np.float32(1), np.float32(2)).item()]),
        st.floats(allow_nan=False, allow_infinity=False, width=32),
    )
    continuous = [[data.draw(number) for _ in range(layout.spec.continuous_size)] for _ in range(count)]
    discrete = [[data.draw(st.integers(0, size - 1)) for size in layout.spec.discrete_branches] for _ in range(count)]
    actions = Actions(
        np.array(continuous, np.float32).reshape(count, -1), np.array(discrete, np.int64).reshape(count, -1)
    )
    with warnings.catch_warnings():
        # A number too large for the dtype on its way to the clip is no trouble.
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "overflow encountered")
        rows = layout.rows(actions)
        batch = layout.batch(actions)
    assert len(rows) == count
    batched = batch_space(space, count)
    assert batched.contains(batch), batch
    for row, from_batch in zip(rows, iterate(batched, batch), strict=True):
        assert space.contains(row), row
        for part, batched_part in zip(_leaves(row), _leaves(from_batch), strict=True):
            assert np.isfinite(part).all()
            np.testing.assert_array_equal(part, batched_part)


def _leaves(action: Any) -> list[Any]:
    if isinstance(action, dict):
        return [leaf for part in action.values() for leaf in _leaves(part)]
    return [leaf for part in action for leaf in _leaves(part)] if isinstance(action, tuple) else [action]
