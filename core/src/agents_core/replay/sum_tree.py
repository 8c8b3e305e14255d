"""Drawing indices in proportion to their weights, which change all the time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]

_WIDTH = 16
"""Children of a node: few levels, and few enough to be added up at once."""


class SumTree:
    """Weights of `size` indices and the sums of groups of them, level by level.

    What a node holds is always the sum of its children in one order, so that equal weights give equal sums.

    Attributes:
        BYTES: Memory that an index takes, for its weight and its part of the sums.
    """

    BYTES = -(-8 * _WIDTH // (_WIDTH - 1))

    def __init__(self, size: int) -> None:
        sizes = [_rounded(size)]
        while sizes[-1] > _WIDTH:
            sizes.append(_rounded(sizes[-1] // _WIDTH))
        self._levels: list[Float64s] = [np.zeros((count // _WIDTH, _WIDTH)) for count in sizes]
        self._stale: list[Int64s] = []

    def __getitem__(self, indices: Int64s) -> Float64s:
        weights: Float64s = self._levels[0].reshape(-1)[indices]
        return weights

    def __setitem__(self, indices: Int64s, weights: Float64s | float) -> None:
        self._levels[0].reshape(-1)[indices] = weights
        self._stale.append(indices)

    @property
    def total(self) -> float:
        """Sum of all weights."""
        self._refresh()
        return float(self._levels[-1].sum())

    def find(self, heights: Float64s) -> Int64s:
        """The indices in whose share of [0, total) these heights lie; never one without weight."""
        self._refresh()
        nodes = np.zeros(len(heights), np.int64)
        places = np.arange(len(heights))
        for level in reversed(self._levels):
            sums = level[nodes].cumsum(axis=1)
            # Rounding may put a height at the very top: then the last child that has weight.
            last = (sums < sums[:, -1:]).sum(axis=1)
            child = np.minimum((sums <= heights[:, None]).sum(axis=1), last)
            heights = heights - np.where(child > 0, sums[places, child - 1], 0.0)
            nodes = nodes * _WIDTH + child
        return nodes

    def _refresh(self) -> None:
        """Add up anew what stands above changed weights."""
        if not self._stale:
            return
        nodes = self._stale[0] if len(self._stale) == 1 else np.concatenate(self._stale)
        self._stale.clear()
        for below, level in zip(self._levels, self._levels[1:], strict=False):
            nodes = nodes // _WIDTH
            level.reshape(-1)[nodes] = below[nodes].sum(axis=1)


def _rounded(count: int) -> int:
    """The next multiple of the width."""
    return max(1, -(-count // _WIDTH)) * _WIDTH
