"""Rows of transitions in which every observation is stored once.

Transitions are numbered in the order in which they come; number k lies in row k mod `ring`. A row holds what the agent
saw, did and got. What it saw next is in the row that `successor` names: that of its next transition or, as long as
there is none, one that is no transition: a row beyond the ring, where the final observation of an episode stays, or,
of agents that act together again and again (see `steady_rows`), the row ahead where their next transition is going to
be. The ring is somewhat larger than the capacity for that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array
from agents_core.replay.agents import NONE, LastTransitions
from agents_core.replay.free_rows import FreeRows
from agents_core.replay.layout import Field, RowStore, bytes_per_row, fields_of

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NOT_KEPT = ("action.raw", "log_prob", "tick", "group_id", "memory.critic")
"""Fields that only on-policy learning needs."""

AHEAD = 512
"""Most rows that the ring is larger than the capacity."""

_SCAN = 2048
"""Rows that are looked through at once for rows beyond the ring that become free."""


class LinkedRows:
    """The newest `capacity` transitions of all agents.

    Args:
        capacity: Transitions to keep.
        fields: Fields that transitions are likely to have; others are made room for when they come.

    Attributes:
        ring: Rows for transitions.
        store: The rows; those from `ring` on are no transitions, and as many as there can be ends of episodes.
        total: Transitions taken in so far.
        names: Fields that transitions had so far, without those of the next row.
        agents: What each agent did last, up to date after `settle`.
        free: Rows beyond the ring that nothing is in.
    """

    def __init__(self, capacity: int, fields: Mapping[str, Field]) -> None:
        self.capacity = capacity
        self.ring = ring_size(capacity)
        self.store = self._make_store({"successor": Field((), np.dtype(np.int64)), **fields})
        self.total = 0
        self.names: tuple[str, ...] = ()
        self.agents = LastTransitions()
        self.free = FreeRows(self.ring, capacity)
        self._required = [
            given
            for name, field in fields.items()
            if field.size and name != "action_mask"
            for given in (name, *filter(None, [field.follower]))
        ]
        self._owned_from = 0  # Transitions before this number have no row beyond the ring.
        self._field_count = 0
        self._list_writes()

    def __len__(self) -> int:
        return min(self.total, self.capacity)

    @property
    def successor(self) -> Int64s:
        """int64[rows], where the next observation of each transition is, up to date after `note`."""
        return self._successor

    def rows_of(self, numbers: Int64s) -> Int64s:
        """Where transitions are."""
        return numbers % self.ring

    def are_transitions(self, rows: Int64s) -> Bools:
        """Whether rows are transitions that are kept."""
        kept: Bools = (rows < self.ring) & ((self.total - 1 - rows) % self.ring < len(self))
        return kept

    @property
    def is_linked(self) -> bool:
        """Whether it is known of every transition where its next observation is."""
        return bool((self._successor[self.rows_of(np.arange(self.total - len(self), self.total))] >= 0).all())

    def start_at(self, number: int) -> None:
        """Let the first transition of empty rows have another number than 0."""
        self.total = self._owned_from = number

    def add(self, fields: Mapping[str, Array]) -> None:
        """Take in transitions; those of one agent are in the order of time.

        Raises:
            ValueError: A field is missing, or has another shape than its rows; nothing is taken in then.
        """
        count = len(fields["agent_id"])
        if not count:
            return
        self.settle()
        fields = self._completed(fields, count)
        done = 0
        while done < count:  # In pieces that do not wrap around.
            first = self.total % self.ring
            piece = min(count - done, self.capacity, self.ring - first)
            part = fields if piece == count else {name: array[done : done + piece] for name, array in fields.items()}
            self._add_piece(part, first, piece, is_all=piece == count)
            done += piece

    def note(self) -> None:
        """Write down what was put off; here nothing is."""

    def settle(self) -> None:
        """Bring `agents` up to date, as they always are here."""

    @property
    def _noted(self) -> int:
        """Before this number it is known of every transition where its next observation is."""
        return self.total

    def _places_ahead(self, first: int, count: int, agents: int) -> Int64s | None:
        """Rows for what follows `count` transitions of `agents` agents, added to the rows from `first` on.

        Returns:
            None = beyond the ring, as always here.
        """

    def _add_piece(self, fields: Mapping[str, Array], first: int, count: int, *, is_all: bool) -> None:
        oldest = max(0, self.total + count - self.capacity)
        self._free_before(oldest)
        for name in self.names:
            self.store.columns[name][first : first + count] = fields[name]
        ids, episodes = fields["agent_id"], fields["episode_id"]
        ended = fields["terminated"] | fields["truncated"]
        numbers = np.arange(self.total, self.total + count)
        before, firsts, lasts = self.agents.find_before(ids, episodes, ended, numbers)
        before[before < oldest] = NONE

        ahead = self._places_ahead(first, count, len(firsts)) if is_all else None
        self._link(numbers, before, fields, None if ahead is None else np.where(ended, NONE, ahead))
        self.agents.replace(ids[firsts], np.where(ended[lasts], NONE, numbers[lasts]), episodes[lasts], oldest)
        self.total += count

    def _link(self, numbers: Int64s, before: Int64s, fields: Mapping[str, Array], ahead: Int64s | None) -> None:
        """Let transitions `numbers` follow those of `before`.

        What the last of each agent saw goes to the rows `ahead` of them, or beyond where that is `NONE`.
        """
        rows = self.rows_of(numbers)
        follows = before != NONE
        before = before[follows]
        is_earlier = before < numbers[0]
        before_rows = self.rows_of(before)
        self.free.give_back(self._successor[before_rows[is_earlier]])
        self._successor[before_rows] = rows[follows]
        is_last = np.ones(len(numbers), np.bool_)
        is_last[before[~is_earlier] - numbers[0]] = False
        last = np.flatnonzero(is_last)
        waiting = np.full(len(last), NONE) if ahead is None else ahead[last]
        is_beyond = waiting == NONE
        waiting[is_beyond] = self._put_beyond(fields, last[is_beyond])
        self._successor[rows[last]] = waiting
        if ahead is not None:
            for _, follower, column in self._followed_writes:
                column[waiting[~is_beyond]] = fields[follower][last[~is_beyond]]

    def _put_beyond(self, fields: Mapping[str, Array], places: Int64s) -> Int64s:
        """Put what some of the transitions saw next to rows beyond the ring, which are returned."""
        beyond = self.take_beyond(len(places))
        for _, follower, column in self._followed_writes:
            column[beyond] = fields[follower][places]
        return beyond

    def take_beyond(self, count: int) -> Int64s:
        """Free rows beyond the ring."""
        return self.free.take(count)

    def _free_before(self, oldest: int) -> None:
        """Free the rows beyond the ring of transitions that are dropped."""
        if oldest <= self._owned_from:
            return
        noted = self._noted  # What is not noted yet has none.
        successor = self._successor[self.rows_of(np.arange(self._owned_from, min(oldest, noted)))]
        self.free.give_back(successor[successor >= self.ring])
        stop = min(oldest + _SCAN, noted)
        ahead = self._successor[self.rows_of(np.arange(oldest, stop))] >= self.ring
        if ahead.any():
            self._owned_from = oldest + int(ahead.argmax())
        else:
            self._owned_from = self.total if stop == noted else max(oldest, stop)

    def _completed(self, fields: Mapping[str, Array], count: int) -> Mapping[str, Array]:
        """The fields in the dtypes of their rows, with those that only other transitions have.

        Room is made for new ones.
        """
        if misfit := self._misfit(fields):
            raise ValueError(misfit)
        self.admit((name for name in fields if not name.startswith("next_") and name not in NOT_KEPT), fields)
        self._field_count = len(fields) if all(name in fields for name in self.names) else NONE
        completed = dict(fields)
        for name in self.names:
            field = self.store.fields[name]
            absent = None if name in fields else np.full((count, *field.shape), field.absent, field.dtype)
            for given in filter(None, (name, field.follower)):
                completed[given] = fields[given].astype(field.dtype, copy=False) if absent is None else absent
        return completed

    def _misfit(self, fields: Mapping[str, Array]) -> str:
        """What is missing or does not fit into its rows; empty if nothing."""
        if missing := [name for name in self._required if name not in fields]:
            return f"missing: {', '.join(missing)}"
        for name, field in self.store.fields.items():
            for given in (name, field.follower):
                if given in fields and fields[given].shape[1:] != field.shape:
                    return f"{given}: found rows of shape {fields[given].shape[1:]}, expected {field.shape}"
        return ""

    def admit(self, names: Iterable[str], fields: Mapping[str, Array]) -> None:
        """Make room for fields that no transition had before; those that are here did without."""
        new = [name for name in names if name not in self.names]
        if not new:
            return
        if more := [name for name in new if name not in self.store.fields]:
            if self.names:
                self.store.append(fields_of(fields, more))
            else:  # Nothing is written yet.
                self.store = self._make_store({**self.store.fields, **fields_of(fields, more)})
        for name in new:
            column, absent = self.store.columns[name], self.store.fields[name].absent
            if self.names and absent:
                column[: min(self.total, self.ring)] = column[self.ring : self.free.unused] = absent
        had = {*self.names, *new}
        self.names = tuple(name for name in self.store.fields if name in had)
        self._list_writes()

    def _make_store(self, fields: Mapping[str, Field]) -> RowStore:
        return RowStore(fields, self.ring + self.capacity)

    def _list_writes(self) -> None:
        """Where `add` writes which field."""
        columns, followed = self.store.columns, self.store.followed
        self._successor = columns["successor"]
        self._followed_writes = [(name, followed[name], columns[name]) for name in self.names if name in followed]


def ring_size(capacity: int) -> int:
    """Rows of the ring."""
    return capacity + min(capacity, AHEAD)


def least_bytes(capacity: int, fields: Iterable[Field], beside: int = 0) -> int:
    """Memory that full rows take, without those for ends of episodes; `beside` = bytes of each elsewhere."""
    return ring_size(capacity) * (bytes_per_row(fields) + beside)


def most_bytes(capacity: int, fields: Collection[Field], beside: int = 0) -> int:
    """Memory that rows may come to take: at worst each transition is an episode, with a row beyond the ring."""
    return least_bytes(capacity, fields, beside) + capacity * (bytes_per_row(fields) + 8)  # The 8 for `FreeRows`.
