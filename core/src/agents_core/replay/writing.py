"""Writing transitions of agents that act together again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np

from agents_core.columns import Array
from agents_core.replay.layout import RowStore


class FieldWriter:
    """Writes fields of transitions to rows, and what is seen next to the rows right after these.

    A single transition is one piece of memory, which is written at once. Several ones are put aside as bytes, which is
    several times faster than writing to slices of arrays, and written together by `flush`.

    Args:
        store: Where to.
        ring: Rows of transitions, of which the one after the last is the first.
        own: Fields of the transition itself.
        followers: Fields of the next row: what they are called here, and there.
    """

    def __init__(self, store: RowStore, ring: int, own: Iterable[str], followers: Mapping[str, str]) -> None:
        self._ring = ring
        own, ahead = _in_order(store, own), _in_order(store, followers)
        self._own = [(name, store.columns[name]) for name in own]
        self._ahead = [(followers[name], store.columns[name]) for name in ahead]
        self._dtypes = [(name, column.dtype) for name, column in (*self._own, *self._ahead)]
        self._staged: list[list[bytes]] = []
        self._memory: memoryview | None = None
        self._stride = stride = store.row_bytes
        here = [(place.start, place.stop) for name in own if (place := store.bytes_of(name))]
        after = [(place.start + stride, place.stop + stride) for name in ahead if (place := store.bytes_of(name))]
        pieces = here + after
        self._is_small = len(pieces) == len(self._dtypes)
        if pieces and self._is_small and all(one[1] == other[0] for one, other in pairwise(pieces)):
            self._memory, self._length = store.memory[pieces[0][0] :], pieces[-1][1] - pieces[0][0]

    def write(self, fields: Mapping[str, Array], number: int, count: int) -> bool:
        """Write transitions to the rows that follow one another, and what they saw next to those after, or later.

        Args:
            fields: Of the transitions.
            number: How many transitions came before.
            count: How many these are; neither their rows nor those after wrap around.

        Returns:
            Whether it could be; False = a field has another dtype than its rows.

        Raises:
            KeyError: A field is missing.
            ValueError: A field has another shape.
        """
        if not self._is_small:
            first = number % self._ring
            ahead = first + count
            for name, column in self._own:
                column[first:ahead] = fields[name]
            for name, column in self._ahead:
                column[ahead : ahead + count] = fields[name]
            return True
        data = []
        for name, dtype in self._dtypes:
            array = fields[name]
            if array.dtype is not dtype and array.dtype != dtype:  # The former is fast and nearly always enough.
                return False
            data.append(array.tobytes())
        if count == 1 and self._memory is not None:
            place = number % self._ring * self._stride
            self._memory[place : place + self._length] = b"".join(data)
        else:
            self._staged.append(data)
        return True

    def flush(self, first: int, count: int) -> None:
        """Write what was put aside, `count` transitions at a time, to the rows from `first` on."""
        if not self._staged:
            return
        targets = [
            *((column, first) for _, column in self._own),
            *((column, first + count) for _, column in self._ahead),
        ]
        for parts, (column, start) in zip(zip(*self._staged, strict=True), targets, strict=True):
            values = np.frombuffer(b"".join(parts), column.dtype).reshape(-1, *column.shape[1:])
            column[start : start + len(values)] = values
        self._staged.clear()


def _in_order(store: RowStore, names: Iterable[str]) -> list[str]:
    """Names of the fields that are not empty, as they lie in memory."""
    return sorted((name for name in names if store.fields[name].size), key=lambda name: store.bytes_of(name) or (0, 0))
