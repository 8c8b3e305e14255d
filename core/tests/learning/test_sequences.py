"""Trajectories are split from the front, and minibatches keep sequences whole."""

from __future__ import annotations

import numpy as np
from agents_core.learning.sequences import even_parts, rows_of, sequence_minibatches, split
from hypothesis import given
from hypothesis import strategies as st

LENGTHS = st.lists(st.integers(1, 20), min_size=1, max_size=30).map(np.array)


def test_trajectories_are_split_from_the_front() -> None:
    assert split(np.array([5, 2, 3]), 3).tolist() == [3, 2, 2, 3]


@given(LENGTHS, st.integers(1, 25))
def test_pieces_fill_their_trajectory(lengths: np.ndarray, longest: int) -> None:
    expected = [min(longest, length - start) for length in lengths for start in range(0, length, longest)]
    assert split(lengths, longest).tolist() == expected


def test_rows_of_stretches() -> None:
    assert rows_of(np.array([4, 0]), np.array([2, 3])).tolist() == [4, 5, 0, 1, 2]


@given(LENGTHS, st.integers(1, 100))
def test_parts_hold_all_stretches_once_and_are_even(lengths: np.ndarray, rows: int) -> None:
    parts = even_parts(lengths, rows)
    assert [part.start for part in parts] == [0, *(part.stop for part in parts[:-1])]
    assert parts[-1].stop == len(lengths)
    ideal = lengths.sum() / max(1, round(lengths.sum() / rows))
    for part in parts:
        assert 0 < lengths[part].sum() <= ideal + lengths.max()


@given(LENGTHS, st.integers(1, 100), st.integers(0, 9))
def test_minibatches_are_whole_sequences_and_have_every_row_once(
    lengths: np.ndarray, batch_size: int, seed: int
) -> None:
    batches = list(sequence_minibatches(lengths, batch_size, np.random.default_rng(seed)))
    assert sorted(np.concatenate(batches).tolist()) == list(range(lengths.sum()))
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    for batch in batches:
        inside = sequence[batch]
        same = inside[1:] == inside[:-1]
        assert (np.diff(batch)[same] == 1).all()
        assert all((inside == number).sum() == lengths[number] for number in np.unique(inside))
