"""Writing transitions of agents that act together again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from agents_core.columns import Array
from agents_core.replay.layout import RowStore


class FieldWriter:
    """Writes fields of transitions to rows, and what is seen next to the rows ahead.

    A single transition is one piece of memory, which is written at once. Several ones are put aside as bytes, which is
    several times faster than writing to slices of arrays, and written together by `flush`.

    Args:
        store: Where to.
        own: Fields of the transition itself.
        followers: Fields of the next row: what they are called there, and here.
    """

    def __init__(self, store: RowStore, own: Sequence[str], followers: Mapping[str, str]) -> None:
        own = [name for name in own if store.fields[name].size]
        ahead = {follower: name for name, follower in followers.items() if store.fields[name].size}
        self._own = [(name, store.columns[name]) for name in own]
        self._ahead = [(follower, store.columns[name]) for follower, name in ahead.items()]
        places = {name: store.bytes_of(name) for name in (*own, *ahead.values())}
        self._is_small = None not in places.values()
        self._stages: list[list[bytes]] = [[] for _ in (*own, *ahead)]
        self._stage = [(name, stage.append) for name, stage in zip((*own, *ahead), self._stages, strict=True)]
        self._staged = 0
        self._memory: memoryview | None = None
        here = sorted((place.start, place.stop, name) for name in own if (place := places[name]))
        after = sorted((place.start, place.stop, name) for name in ahead.values() if (place := places[name]))
        stride = store.row_bytes
        pieces = [*here, *((start + stride, stop + stride, name) for start, stop, name in after)]
        if pieces and self._is_small and all(one[1] == other[0] for one, other in pairwise(pieces)):
            followed = {name: follower for follower, name in ahead.items()}
            self._given = [*(name for _, _, name in here), *(followed[name] for _, _, name in after)]
            self._memory, self._stride = store.memory, stride
            self._start, self._length = pieces[0][0], pieces[-1][1] - pieces[0][0]

    def write(self, fields: Mapping[str, Array], first: int, ahead: int, count: int) -> None:
        """Write transitions to the rows from `first` on, and what they saw next to those from `ahead` on, or later.

        Raises:
            KeyError: A field is missing.
            ValueError: A field has another shape.
        """
        if count == 1 and ahead == first + 1 and self._memory is not None:
            data = b""
            for name in self._given:
                data += fields[name].tobytes()
            place = first * self._stride + self._start
            self._memory[place : place + self._length] = data
        elif count > 1 and self._is_small:
            for name, put_aside in self._stage:
                put_aside(fields[name].tobytes())
            self._staged += 1
        else:
            for name, column in self._own:
                column[first : first + count] = fields[name]
            for name, column in self._ahead:
                column[ahead : ahead + count] = fields[name]

    def flush(self, first: int, ahead: int) -> None:
        """Write what was put aside; the rows from `first` and from `ahead` on do not wrap around."""
        if not self._staged:
            return
        targets = [*((column, first) for _, column in self._own), *((column, ahead) for _, column in self._ahead)]
        for stage, (column, start) in zip(self._stages, targets, strict=True):
            values = np.frombuffer(b"".join(stage[: self._staged]), column.dtype).reshape(-1, *column.shape[1:])
            column[start : start + len(values)] = values
            stage.clear()
        self._staged = 0
