"""Writing fields to the rows of a store, in the way that is fastest for one row and for several."""

from __future__ import annotations

from collections.abc import Mapping

from agents_core.columns import Array
from agents_core.replay.layout import RowStore


class FieldWriter:
    """Writes some fields.

    Args:
        store: Where to.
        targets: The store's field for each field that is given.
    """

    __slots__ = ("_as_bytes", "_columns", "_large")

    def __init__(self, store: RowStore, targets: Mapping[str, str]) -> None:
        targets = {given: name for given, name in targets.items() if store.columns[name].size}
        self._columns = [(given, store.columns[name]) for given, name in targets.items()]
        places = {given: store.bytes_of(name) for given, name in targets.items()}
        self._as_bytes = [
            (given, place.dtype, place.memory, place.stride, place.start, place.stop)
            for given, place in places.items()
            if place is not None
        ]
        self._large = [(given, column) for given, column in self._columns if places[given] is None]

    def write(self, fields: Mapping[str, Array], first: int, stop: int) -> None:
        """Write rows `first` to `stop`."""
        for given, column in self._columns:
            column[first:stop] = fields[given]

    def write_one(self, fields: Mapping[str, Array], row: int) -> None:
        """Write a single row; the fields have one."""
        for given, dtype, memory, stride, start, stop in self._as_bytes:
            value = fields[given]
            if value.dtype is not dtype:
                value = value.astype(dtype)
            place = row * stride
            memory[place + start : place + stop] = value.tobytes()
        for given, column in self._large:
            column[row] = fields[given][0]
