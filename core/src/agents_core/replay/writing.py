"""Writing transitions of agents that act together again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import SEEK_CUR, BytesIO
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
    store, which no cache holds, is gone through once and not once for each field. Fields that have arrays of their own,
    such as images, are written at once.

    Args:
        store: Where to.
        ring: Rows of transitions, of which the one after the last is the first.
        own: Fields of the transition itself, without those of `KNOWN`.
        followers: Fields of the next row: what they are called here, and there.
        enough: How many transitions may be put aside before they are flushed, beside those that come last.
        agents: How many of them come at once at most.

    Attributes:
        enough: As given; fewer where rows are long.
    """

    def __init__(
        self, store: RowStore, ring: int, own: Iterable[str], followers: Mapping[str, str], enough: int, agents: int
    ) -> None:
        self._ring = ring
        self._rows = rows = store.side_by_side
        self.enough = max(1, min(enough, _CACHED // rows.row_bytes))
        self._scratch = rows.like(max(self.enough, agents) + 2 * agents)  # The last ones, and what they see next.
        given = [*((name, name, False) for name in own), *((after, name, True) for name, after in followers.items())]
        fields = [_Written(*names, store.columns[names[1]]) for names in given if store.fields[names[1]].size]
        self._together = [field for field in fields if field.name in rows.columns]
        self._apart = [field for field in fields if field.name not in rows.columns]
        self._dtypes = [(field.given, field.column.dtype) for field in self._together]
        self._staged = BytesIO()
        self._agents = 0

    def expect(self, agent_id: Int64s, episode_id: Int64s) -> None:
        """From now on transitions come from these, each time, and no episode ends with them: int64[agents]."""
        self._agent_id, self._episode_id = agent_id, episode_id
        if self._agents != len(agent_id):
            agents = self._agents = len(agent_id)
            self._staged_dtype = np.dtype(
                [(field.given, field.column.dtype, (agents, *field.column.shape[1:])) for field in self._together]
            )
            self._staged_bytes = self._staged_dtype.itemsize
            self._shapes_apart = [(field.given, (agents, *field.column.shape[1:])) for field in self._apart]
            ahead = {field.name for field in self._together if field.is_ahead}
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
            Whether it could be; False = a field is missing, or has another dtype or shape than its rows.
        """
        stage, size = self._staged.write, 0
        try:
            for name, dtype in self._dtypes:
                array = fields[name]
                if array.dtype is not dtype and array.dtype != dtype:  # The former is fast and nearly always enough.
                    break
                size += stage(array.tobytes())
            if size == self._staged_bytes and (not self._apart or self._write_apart(fields, number % self._ring)):
                return True
        except KeyError:
            pass
        self._staged.seek(-size, SEEK_CUR)
        return False

    def flush(self, first: int, count: int) -> None:
        """Write what was put aside, which is of `count` transitions, to the rows from `first` on."""
        agents, stop = self._agents, first + count
        times = count // agents
        staged = np.frombuffer(self._staged.getbuffer(), self._staged_dtype, times)
        scratch, by_time = self._scratch.columns, self._by_time
        for given, name, is_ahead, column in self._together:
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

    def _write_apart(self, fields: Mapping[str, Array], first: int) -> bool:
        for given, shape in self._shapes_apart:
            if fields[given].shape != shape:
                return False
        for given, _, is_ahead, column in self._apart:
            start = first + self._agents * is_ahead
            column[start : start + self._agents] = fields[given]
        return True


class _Written(NamedTuple):
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
