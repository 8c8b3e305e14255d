"""Splitting trajectories into the sequences that recurrent layers are trained on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


def split(lengths: Int64s, longest: int) -> Int64s:
    """Each length in pieces of `longest` from the front, the rest last: [5, 2] by 3 -> [3, 2, 2]."""
    pieces = -(-lengths // longest)
    result = np.full(int(pieces.sum()), longest, np.int64)
    result[np.cumsum(pieces) - 1] = lengths - (pieces - 1) * longest
    return result


def starts_of(lengths: Int64s) -> Int64s:
    """First row of each stretch when they lie one after another."""
    return np.cumsum(lengths) - lengths


def rows_of(starts: Int64s, lengths: Int64s) -> Int64s:
    """The rows of stretches, one after another: starts [4, 0] and lengths [2, 3] -> [4, 5, 0, 1, 2]."""
    return np.arange(int(lengths.sum())) + np.repeat(starts - starts_of(lengths), lengths)


def even_parts(lengths: Int64s, rows: int) -> list[slice]:
    """Stretches in groups of neighbours with as near to `rows` rows each as an even split comes."""
    total = int(lengths.sum())
    count = max(1, round(total / rows))
    # Each stretch goes to the part that its middle row lies in.
    part = ((np.cumsum(lengths) - lengths / 2) * count / total).astype(np.int64)
    bounds = [*np.flatnonzero(np.diff(part, prepend=-1)).tolist(), len(lengths)]
    return [slice(*pair) for pair in pairwise(bounds)]


def sequence_minibatches(lengths: Int64s, batch_size: int, generator: np.random.Generator) -> Iterator[Int64s]:
    """All sequences once, in random order, whole, in minibatches of about `batch_size` rows.

    Args:
        lengths: int64[m], rows of each sequence.
        batch_size: Rows of a minibatch, about.
        generator: Source of the order.

    Yields:
        Rows, those of a sequence side by side.
    """
    order = generator.permutation(len(lengths))
    starts, lengths = starts_of(lengths)[order], lengths[order]
    for part in even_parts(lengths, batch_size):
        yield rows_of(starts[part], lengths[part])
