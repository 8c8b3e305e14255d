"""Rows beyond the capacity, which hold what is seen after a transition until the agent's next transition comes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


class FreeRows:
    """Which of `count` rows from `first` on are free. Rows that were given back are taken first.

    Attributes:
        unused: From this row on none was ever taken.
    """

    def __init__(self, first: int, count: int) -> None:
        self.unused = first
        self._free: Int64s = np.empty(count, np.int64)
        self._count = 0

    def take(self, count: int) -> Int64s:
        """So many rows, ascending; there must be enough."""
        again = min(count, self._count)
        self._count -= again
        rows = np.sort(self._free[self._count : self._count + again])
        if again == count:
            return rows
        first = self.unused
        self.unused += count - again
        return np.concatenate((rows, np.arange(first, self.unused)))

    def give_back(self, rows: Int64s) -> None:
        self._free[self._count : self._count + len(rows)] = rows
        self._count += len(rows)
