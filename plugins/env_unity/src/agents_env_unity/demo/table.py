"""Columns that grow block by block without a second copy."""

from __future__ import annotations

import numpy as np
from agents_core.columns import Array

_DEFAULTS = {"mask": True, "group_id": 0, "group_reward": 0}
"""What an optional column holds for blocks that lack it."""


class GrowingTable:
    """Preallocated columns.

    Args:
        capacity: Rows that are expected; memory is taken as rows come, and more may come.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._columns: dict[str, Array] = {}
        self._rows = 0

    def append(self, block: dict[str, Array], rows: int) -> None:
        """Add the rows of a block; a column that it lacks gets its default."""
        start, self._rows = self._rows, self._rows + rows
        self._capacity = max(self._capacity, self._rows + self._rows // 2 if self._rows > self._capacity else 0)
        for name, array in block.items():
            if name not in self._columns:
                self._columns[name] = np.empty((self._capacity, *array.shape[1:]), array.dtype)
                self._columns[name][:start] = _DEFAULTS.get(name, 0)
            self._room(name, start)[start : self._rows] = array
        for name in self._columns.keys() - block.keys():
            self._room(name, start)[start : self._rows] = _DEFAULTS[name]

    def finish(self) -> dict[str, Array]:
        """The columns, as long as there are rows."""
        return {name: column[: self._rows] for name, column in self._columns.items()}

    def _room(self, name: str, filled: int) -> Array:
        """The column with room for all rows."""
        column = self._columns[name]
        if len(column) < self._rows:
            larger = np.empty((self._capacity, *column.shape[1:]), column.dtype)
            larger[:filled] = column[:filled]
            column = self._columns[name] = larger
        return column
