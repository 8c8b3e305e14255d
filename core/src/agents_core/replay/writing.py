"""Writing transitions of agents that act together again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import NamedTuple

import numpy as np

from agents_core.columns import Array
from agents_core.replay.layout import Int64s, RowStore

_CACHED = 2**18
"""Bytes that stay in the cache of a processor's core while they are worked on."""

KNOWN = ("agent_id", "episode_id", "terminated", "truncated")
"""Fields that need not be given, for they follow from what is expected."""


class FieldWriter:
    """Writes fields of transitions to rows, and what is seen next to the rows right after these.

    Fields that lie side by side are put aside as bytes, which is several times faster than writing to slices of arrays.
    `flush` puts the rows of many transitions together in a scratch copy, which is copied as a whole: the memory of the
    store, which no cache holds, is gone through once and not once for each field. Large fields are written at once.

    Args:
        store: Where to.
        ring: Rows of transitions, of which the one after the last is the first.
        own: Fields of the transition itself, without those of `KNOWN`.
        followers: Fields of the next row: what they are called here, and there.
        most: How many transitions are put aside at most.
        agents: How many of them come at once at most.

    Attributes:
        most: How many transitions are put aside at most; fewer where rows are long.
    """

    def __init__(
        self, store: RowStore, ring: int, own: Iterable[str], followers: Mapping[str, str], most: int, agents: int
    ) -> None:
        self._ring = ring
        self._rows = rows = store.side_by_side
        self.most = max(1, min(most, _CACHED // rows.row_bytes))
        self._scratch = rows.like(self.most + 2 * agents)
        given = [*((name, name, False) for name in own), *((after, name, True) for name, after in followers.items())]
        fields = [_Field(*names, store.columns[names[1]]) for names in given if store.fields[names[1]].size]
        self._small = [field for field in fields if field.name in rows.columns]
        self._large = [field for field in fields if field.name not in rows.columns]
        self._dtypes = [(field.given, field.column.dtype) for field in self._small]
        self._staged = BytesIO()
        self._agents = 0

    def expect(self, agent_id: Int64s, episode_id: Int64s) -> None:
        """From now on transitions come from these, each time, and no episode ends with them: int64[agents]."""
        self._agent_id, self._episode_id = agent_id, episode_id
        if self._agents != len(agent_id):
            agents = self._agents = len(agent_id)
            self._staged_dtype = np.dtype(
                [(field.given, field.column.dtype, (agents, *field.column.shape[1:])) for field in self._small]
            )
            ahead = {field.name for field in self._small if field.is_ahead}
            self._by_time = {
                name: _by_time(column[agents:] if name in ahead else column, agents)
                for name, column in self._scratch.columns.items()
            }

    def write(self, fields: Mapping[str, Array], number: int) -> bool:
        """Write transitions to the rows that follow one another, and what they saw next to those after, or later.

        Args:
            fields: Of the transitions.
            number: How many transitions came before; neither the rows nor those after wrap around.

        Returns:
            Whether it could be; False = a field is missing or has another dtype than its rows.

        Raises:
            ValueError: A large field has another shape.
        """
        if self._large:
            self._write_large(fields, number % self._ring)
        stage = self._staged.write
        try:
            for name, dtype in self._dtypes:
                array = fields[name]
                if array.dtype is not dtype and array.dtype != dtype:  # The former is fast and nearly always enough.
                    break
                stage(array.tobytes())
            else:
                return True
        except KeyError:
            pass
        self._staged.seek(self._staged.tell() // self._staged_dtype.itemsize * self._staged_dtype.itemsize)
        return False

    def flush(self, first: int, count: int) -> None:
        """Write what was put aside, which is of `count` transitions, to the rows from `first` on.

        Raises:
            ValueError: A field had another shape.
        """
        agents, stop = self._agents, first + count
        times = count // agents
        if self._staged.tell() != times * self._staged_dtype.itemsize:
            raise ValueError("a field had another shape than that of its rows")
        staged = np.frombuffer(self._staged.getbuffer(), self._staged_dtype, times)
        scratch, by_time = self._scratch.columns, self._by_time
        for given, name, is_ahead, column in self._small:
            values = staged[given]
            by_time[name][:times] = values
            if is_ahead:
                scratch[name][:agents] = column[first : first + agents]
                column[stop : stop + agents] = values[-1]
        scratch["successor"][:count] = np.arange(first + agents, stop + agents)
        by_time["agent_id"][:times] = self._agent_id
        by_time["episode_id"][:times] = self._episode_id
        self._rows.write(first, self._scratch, count)
        self._staged.seek(0)

    def _write_large(self, fields: Mapping[str, Array], first: int) -> None:
        for field in self._large:
            start = first + self._agents * field.is_ahead
            field.column[start : start + self._agents] = fields[field.given]


class _Field(NamedTuple):
    """A field that is written.

    Attributes:
        given: Its name in what is added.
        name: Its name in the store.
        is_ahead: Whether it is of the row after.
        column: Its rows.
    """

    given: str
    name: str
    is_ahead: bool
    column: Array


def _by_time(column: Array, agents: int) -> Array:
    """A view [times, agents, *shape] of rows."""
    times = len(column) // agents
    return column[: times * agents].reshape(times, agents, *column.shape[1:])
