"""Rows beyond the capacity, which hold what is seen after a transition until the agent's next transition comes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


class FreeRows:
    """Which rows from `first` on are free."""

    def __init__(self, first: int, count: int) -> None:
        self._stop = first + count
        self._free: Int64s = np.arange(self._stop - 1, first - 1, -1)
        self._count = count

    def __len__(self) -> int:
        return self._count

    def take(self, count: int) -> Int64s:
        """So many rows, ascending; there must be enough."""
        self._count -= count
        return np.sort(self._free[self._count : self._count + count])

    def give_back(self, rows: Int64s) -> None:
        self._free[self._count : self._count + len(rows)] = rows
        self._count += len(rows)

    def extend(self, count: int) -> None:
        """There are so many rows more."""
        new = np.arange(self._stop + count - 1, self._stop - 1, -1)
        self._free = np.concatenate((new, self._free[: self._count], np.zeros(len(self._free) - self._count, np.int64)))
        self._count += count
        self._stop += count
