"""Rows of transitions in which every observation is stored once.

Transitions are numbered in the order in which they come; number k lies in row k mod `ring`. A row holds what the agent
saw, did and got. What it saw next is in the row that `successor` names: that of its next transition or, as long as
there is none, one that is no transition. That is a row beyond the ring, where the final observation of an episode
stays; or, where the same agents act again and again, the row ahead where their next transition is going to be, so that
most observations are written once only. The ring is somewhat larger than the capacity for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array
from agents_core.replay.agents import NONE, LastTransitions
from agents_core.replay.free_rows import FreeRows
from agents_core.replay.layout import Field, RowStore, fields_of
from agents_core.replay.writing import FieldWriter

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NOT_KEPT = ("action.raw", "log_prob", "tick", "group_id", "memory.critic")
"""Fields that only on-policy learning needs."""

AHEAD = 512
"""Most rows that the ring is larger than the capacity."""

_WHO = ("agent_id", "episode_id")
_ENDED = ("terminated", "truncated")
_PUT_OFF = 2048
"""Most transitions that are put off, see `LinkedRows.note`."""
_SCAN = 2048
"""Rows that are looked through at once for rows beyond the ring that become free."""


@dataclass(slots=True)
class _Steady:
    """Agents that act together again and again, and have just done so; what they saw then is in the rows ahead.

    Attributes:
        size: How many.
        agents: `agent_id` as bytes.
        episodes: `episode_id` as bytes; empty where `begins` is not.
        nobody: `terminated` and `truncated` of nobody, as bytes.
        who: int64[size, 2], `agent_id` and `episode_id`.
        begins: bool[size], whose episode ended and whose rows ahead hold nothing therefore; None = of nobody.
        noted: Transitions from this number on have no agent, end and successor in their row yet; see `note`.
    """

    size: int
    agents: bytes
    episodes: bytes
    nobody: bytes
    who: Int64s
    begins: Bools | None
    noted: int


class LinkedRows:
    """The newest `capacity` transitions of all agents.

    Args:
        capacity: Transitions to keep.
        beyond: Rows beyond the ring; more are made when they do not suffice.
        fields: Fields that transitions are likely to have; others are made room for when they come.

    Attributes:
        ring: Rows for transitions.
        store: The rows; those from `ring` on are no transitions.
        total: Transitions taken in so far.
        names: Fields that transitions had so far, without those of the next row.
        agents: What each agent did last, up to date after `settle`.
        free: Rows beyond the ring that nothing is in.
    """

    def __init__(self, capacity: int, beyond: int, fields: Mapping[str, Field]) -> None:
        self.capacity = capacity
        self.ring = ring_size(capacity)
        fields = {"successor": Field((), np.dtype(np.int64)), **fields}
        self.store = RowStore(fields, self.ring + beyond, ("successor", *_WHO, *_ENDED))
        self.total = 0
        self.names: tuple[str, ...] = ()
        self.agents = LastTransitions()
        self.free = FreeRows(self.ring, beyond)
        self._steady: _Steady | None = None
        self._smooth_until = 0
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
        """Take in transitions; those of one agent are in the order of time."""
        steady = self._steady
        if steady is not None and len(fields) == self._field_count and fields["agent_id"].tobytes() == steady.agents:
            try:
                if (
                    fields["episode_id"].tobytes() == steady.episodes
                    and fields["terminated"].tobytes() == steady.nobody
                    and fields["truncated"].tobytes() == steady.nobody
                ):
                    total, size = self.total, steady.size
                    if total < self._smooth_until:
                        first = total % self.ring
                        self._writer.write(fields, first, first + size, size)
                        self.total = total + size
                        return
                    if self._add_at_a_bound(fields, steady):
                        return
                elif self._add_with_ends(fields, steady):
                    return
            except KeyError:  # As many fields as last time, but others.
                self._field_count = NONE
        count = len(fields["agent_id"])
        if count:
            self.settle()
            self._add_any(self._completed(fields, count), count)

    def note(self) -> None:
        """Write down what `add` put off for those that act together again and again."""
        steady = self._steady
        if steady is None or steady.noted == self.total:
            return
        first, count = steady.noted % self.ring, self.total - steady.noted
        ahead = (first + steady.size) % self.ring
        rows = slice(first, first + count)
        self._writer.flush(first, ahead)
        noted = np.empty((count // steady.size, steady.size, 3), np.int64)
        noted[:, :, 0] = np.arange(ahead, ahead + count).reshape(-1, steady.size)
        noted[:, :, 1:] = steady.who
        self._links[rows] = noted.reshape(count, 3)
        self._ended[rows] = False
        steady.noted = self.total

    def _find_bound(self, steady: _Steady) -> None:
        """Find out how long transitions may be added without looking at anything else."""
        size = steady.size
        until_wrap = self.total - self.total % self.ring + self.ring - 2 * size
        until_note = steady.noted + max(1, min(_PUT_OFF, self.capacity) // size) * size - size
        until_owned = self._owned_from + self.capacity - size
        self._smooth_until = min(until_wrap, until_note, until_owned) + 1

    def _add_at_a_bound(self, fields: Mapping[str, Array], steady: _Steady) -> bool:
        """As `add` does it for most, at the end of the ring or where something is to be noted or freed.

        Returns:
            Whether it could be; False = the rows ahead would wrap around.
        """
        self.note()  # What is put off lies in one piece.
        first = self.total % self.ring
        ahead = (first + steady.size) % self.ring
        if ahead + steady.size > self.ring:
            return False
        self._writer.write(fields, first, ahead, steady.size)
        self.total += steady.size
        self.note()
        self._free_before(self.total - self.capacity)
        self._find_bound(steady)
        return True

    def settle(self) -> None:
        """Bring `agents` up to date, and what was seen last to rows beyond the ring: other agents may come now."""
        steady = self._steady
        if steady is None:
            return
        self.note()
        self._steady = None
        numbers = np.arange(self.total - steady.size, self.total)
        goes_on = np.ones(steady.size, np.bool_) if steady.begins is None else ~steady.begins
        order = np.argsort(steady.who[:, 0])
        last = np.where(goes_on, numbers, NONE)[order]
        self.agents.replace(steady.who[order, 0], last, steady.who[order, 1], self.total - len(self))
        rows = self.rows_of(numbers[goes_on])
        beyond = self.take_beyond(len(rows))
        for _, _, column in self._followed_writes:
            column[beyond] = column[self._successor[rows]]
        self._successor[rows] = beyond
        self._owned_from = min(self._owned_from, int(numbers[0]))

    def _add_with_ends(self, fields: Mapping[str, Array], steady: _Steady) -> bool:
        """One more transition of each of the same agents; episodes may end with it, and begin if they ended before.

        Returns:
            Whether it could be; False = an episode was left without an end, or the rows ahead would wrap around.
        """
        first = self.total % self.ring
        ahead = (first + steady.size) % self.ring
        if ahead + steady.size > self.ring:
            return False
        goes_on = fields["episode_id"] == steady.who[:, 1]
        if not (goes_on if steady.begins is None else goes_on | steady.begins).all():
            return False
        self.note()
        stop = first + steady.size
        self._free_before(self.total + steady.size - self.capacity)
        for name in self.names:
            self.store.columns[name][first:stop] = fields[name]
        for _, follower, column in self._followed_writes:
            column[ahead : ahead + steady.size] = fields[follower]
        self._successor[first:stop] = np.arange(ahead, ahead + steady.size)
        ended = fields["terminated"] | fields["truncated"]
        ends = np.flatnonzero(ended)
        if len(ends):
            self._owned_from = min(self._owned_from, self.total)
            self._successor[first + ends] = self._put_beyond(fields, ends)
        self.total += steady.size
        steady.noted = self.total
        steady.who = self._who[first:stop].copy()
        steady.begins = ended if len(ends) else None
        steady.episodes = b"" if len(ends) else fields["episode_id"].tobytes()
        self._find_bound(steady)
        return True

    def _add_any(self, fields: Mapping[str, Array], count: int) -> None:
        """Transitions of any agents, in pieces that do not wrap around."""
        done = 0
        while done < count:
            first = self.total % self.ring
            piece = min(count - done, self.capacity, self.ring - first)
            part = fields if piece == count else {name: array[done : done + piece] for name, array in fields.items()}
            self._add_piece(part, first, piece, is_all=piece == count)
            done += piece

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

        ahead = (first + count) % self.ring
        room = min(self.ring - self.capacity, self.ring - ahead)
        is_steady = is_all and count <= room and len(firsts) == count
        self._link(numbers, before, fields, np.where(ended, NONE, ahead + np.arange(count)) if is_steady else None)
        self.agents.replace(ids[firsts], np.where(ended[lasts], NONE, numbers[lasts]), episodes[lasts], oldest)
        self.total += count
        if is_steady:
            who, is_ended = self._who[first : first + count].copy(), ended.any()
            self._steady = _Steady(
                size=count,
                agents=ids.tobytes(),
                episodes=b"" if is_ended else episodes.tobytes(),
                nobody=bytes(count),
                who=who,
                begins=ended if is_ended else None,
                noted=self.total,
            )
            self._find_bound(self._steady)

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
        if count > len(self.free):
            more = max(count, self.store.rows - self.ring)
            self.store = self.store.with_rows(self.store.rows + more)
            self.free.extend(more)
            self._list_writes()
        return self.free.take(count)

    def _free_before(self, oldest: int) -> None:
        """Free the rows beyond the ring of transitions that are dropped."""
        if oldest <= self._owned_from:
            return
        # What is not noted yet has none.
        noted = self.total if self._steady is None else self._steady.noted
        successor = self._successor[self.rows_of(np.arange(self._owned_from, min(oldest, noted)))]
        self.free.give_back(successor[successor >= self.ring])
        stop = min(oldest + _SCAN, noted)
        ahead = self._successor[self.rows_of(np.arange(oldest, stop))] >= self.ring
        if ahead.any():
            self._owned_from = oldest + int(ahead.argmax())
        else:
            self._owned_from = self.total if stop == noted else max(oldest, stop)

    def _completed(self, fields: Mapping[str, Array], count: int) -> Mapping[str, Array]:
        """The fields, with those that only other transitions have; room is made for new ones."""
        self.admit((name for name in fields if not name.startswith("next_") and name not in NOT_KEPT), fields)
        missing = [name for name in self.names if name not in fields]
        self._field_count = NONE if missing or not self._have_own_dtype(fields) else len(fields)
        completed = dict(fields)
        for name in missing:
            field = self.store.fields[name]
            completed[name] = np.full((count, *field.shape), field.absent, field.dtype)
            if field.follower:
                completed[field.follower] = completed[name]
        return completed

    def _have_own_dtype(self, fields: Mapping[str, Array]) -> bool:
        wanted = {name: self.store.fields[name] for name in self.names}
        return all(
            fields[given].dtype == field.dtype
            for name, field in wanted.items()
            for given in ((name, field.follower) if field.follower else (name,))
        )

    def admit(self, names: Iterable[str], fields: Mapping[str, Array]) -> None:
        """Make room for fields that no transition had before; those that are here did without."""
        new = [name for name in names if name not in self.names]
        if not new:
            return
        if more := [name for name in new if name not in self.store.fields]:
            self.store = self.store.with_rows(self.store.rows, fields_of(fields, more))
        for name in new:
            absent = self.store.fields[name].absent
            if self.total and absent:
                self.store.columns[name][...] = absent
        had = {*self.names, *new}
        self.names = tuple(name for name in self.store.fields if name in had)
        self._list_writes()

    def _list_writes(self) -> None:
        """Where `add` writes which field."""
        columns, followed = self.store.columns, self.store.followed
        self._successor = columns["successor"]
        self._who = self.store.side_by_side(_WHO)
        self._links = self.store.side_by_side(("successor", *_WHO))
        self._ended = self.store.side_by_side(_ENDED)
        self._followed_writes = [(name, followed[name], columns[name]) for name in self.names if name in followed]
        own = [name for name in self.names if name not in {*followed, *_WHO, *_ENDED}]
        self._writer = FieldWriter(self.store, own, {name: followed[name] for name in self.names if name in followed})


def ring_size(capacity: int) -> int:
    """Rows of the ring."""
    return capacity + min(capacity, AHEAD)
