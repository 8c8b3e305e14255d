"""Rows of transitions in which every observation is stored once.

Transitions are numbered in the order in which they come; number k lies in row k mod capacity. A row holds what the
agent saw, did and got. What it saw next is in the row that `successor` names: that of its next transition or, as long
as there is none, a row beyond the capacity. There the observation after an agent's newest transition waits, and the
final one of an episode stays.
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

Int64s = npt.NDArray[np.int64]

NOT_KEPT = ("action.raw", "log_prob", "tick", "group_id", "memory.critic")
"""Fields that only on-policy learning needs."""

_WHO = ("agent_id", "episode_id")
_ENDED = ("terminated", "truncated")
_SCAN = 512
"""Rows that are looked through at once for rows beyond the capacity that become free."""


@dataclass(frozen=True, slots=True)
class _Steady:
    """The transitions added last, where the next ones may be of the same agents in the same episodes.

    Attributes:
        size: How many, each of another agent.
        who: int64[size, 2], `agent_id` and `episode_id`.
        agents: `agent_id` as bytes.
        episodes: `episode_id` as bytes.
        nobody: `terminated` and `truncated` of nobody, as bytes.
        waiting_rows: Rows beyond the capacity that hold what they saw next.
        waiting: The same as a slice where possible.
    """

    size: int
    who: Int64s
    agents: bytes
    episodes: bytes
    nobody: bytes
    waiting_rows: Int64s
    waiting: slice | Int64s


class LinkedRows:
    """The newest `capacity` transitions of all agents.

    Args:
        capacity: Transitions to keep.
        beyond: Rows for observations that no later transition holds; more are made when they do not suffice.
        fields: Fields that transitions are likely to have; others are made room for when they come.

    Attributes:
        store: The rows; those from `capacity` on are no transitions.
        successor: int64[capacity], where the next observation of each transition is.
        total: Transitions taken in so far.
        names: Fields that transitions had so far, without those of the next row.
    """

    def __init__(self, capacity: int, beyond: int, fields: Mapping[str, Field]) -> None:
        self.capacity = capacity
        self.store = RowStore(fields, capacity + beyond)
        self.successor: Int64s = np.zeros(capacity, np.int64)
        self.total = 0
        self.names: tuple[str, ...] = ()
        self.agents = LastTransitions()
        self.free = FreeRows(capacity, beyond)
        self._steady: _Steady | None = None
        self._owned_from = 0  # Transitions before this number have no row beyond the capacity.
        self._field_count = 0
        self._list_writes()

    def __len__(self) -> int:
        return min(self.total, self.capacity)

    @property
    def is_linked(self) -> bool:
        """Whether it is known of every transition where its next observation is."""
        return bool((self.successor[np.arange(self.total - len(self), self.total) % self.capacity] >= 0).all())

    def start_at(self, number: int) -> None:
        """Let the first transition of an empty buffer have another number than 0."""
        self.total = self._owned_from = number

    def add(self, fields: Mapping[str, Array], count: int) -> None:
        """Take in transitions; those of one agent are in the order of time."""
        steady = self._steady
        first = self.total % self.capacity
        if (
            steady is not None
            and steady.size == count
            and first + count <= self.capacity
            and len(fields) == self._field_count
            and fields["agent_id"].tobytes() == steady.agents
            and fields["episode_id"].tobytes() == steady.episodes
            and fields["terminated"].tobytes() == steady.nobody
            and fields["truncated"].tobytes() == steady.nobody
        ):
            if self.total + count - self.capacity > self._owned_from:
                self._free_before(self.total + count - self.capacity)
            try:
                self._add_steadily(fields, steady, first, first + count)
                return
            except KeyError:  # As many fields as last time, but others.
                self._field_count = NONE
        if count:
            self.settle()
            self._add_any(self._completed(fields, count), count)

    def settle(self) -> None:
        """Bring `agents` up to date."""
        if self._steady is not None:
            self.agents.go_on(self._steady.who[:, 0], np.arange(self.total - self._steady.size, self.total))
            self._steady = None

    def _add_steadily(self, fields: Mapping[str, Array], steady: _Steady, first: int, stop: int) -> None:
        """One more transition of each agent of those added last; no episode ended."""
        for name, column in self._own_writes:
            column[first:stop] = fields[name]
        waiting = steady.waiting
        for name, follower, column in self._followed_writes:
            column[first:stop] = fields[name]
            column[waiting] = fields[follower]
        self._who[first:stop] = steady.who
        self._ended[first:stop] = False
        successor = self.successor
        if steady.size == 1:
            successor[first - 1] = first
            successor[first] = steady.waiting_rows[0]
        else:
            before = (first or self.capacity) - steady.size
            successor[before : before + steady.size] = np.arange(first, stop)
            successor[first:stop] = steady.waiting_rows
        self.total += steady.size

    def _add_any(self, fields: Mapping[str, Array], count: int) -> None:
        """Transitions of any agents, in pieces that do not wrap around."""
        done = 0
        while done < count:
            first = self.total % self.capacity
            piece = min(count - done, self.capacity - first)
            part = fields if piece == count else {name: array[done : done + piece] for name, array in fields.items()}
            self._add_piece(part, first, piece)
            done += piece
        if piece == count and 2 * count <= self.capacity:
            self._steady = self._steadiness(fields, count)

    def _add_piece(self, fields: Mapping[str, Array], first: int, count: int) -> None:
        oldest = max(0, self.total + count - self.capacity)
        self._free_before(oldest)
        for name in self.names:
            self.store.columns[name][first : first + count] = fields[name]
        ids, episodes = fields["agent_id"], fields["episode_id"]
        ended = fields["terminated"] | fields["truncated"]
        numbers = np.arange(self.total, self.total + count)
        order = np.argsort(ids, kind="stable")
        is_first = np.ones(count, np.bool_)
        is_first[1:] = ids[order[1:]] != ids[order[:-1]]
        firsts, lasts = order[is_first], order[np.append(is_first[1:], True)]

        before, before_episode = np.full(count, NONE), np.full(count, NONE)
        before[order[1:]] = np.where(ended[order[:-1]], NONE, numbers[order[:-1]])
        before_episode[order[1:]] = episodes[order[:-1]]
        before[firsts], before_episode[firsts] = self.agents.find(ids[firsts])
        before[(before < oldest) | (before_episode != episodes)] = NONE
        self._link(numbers, before, fields)
        self.agents.replace(ids[firsts], np.where(ended[lasts], NONE, numbers[lasts]), episodes[lasts], oldest)
        self.total += count

    def _link(self, numbers: Int64s, before: Int64s, fields: Mapping[str, Array]) -> None:
        """Let transitions `numbers` follow those of `before`, and find room for what the last of each agent saw."""
        rows = numbers % self.capacity
        follows = before != NONE
        before = before[follows]
        is_earlier = before < numbers[0]
        before_rows = before % self.capacity
        self.free.give_back(self.successor[before_rows[is_earlier]])
        self.successor[before_rows] = rows[follows]
        is_last = np.ones(len(numbers), np.bool_)
        is_last[before[~is_earlier] - numbers[0]] = False
        last = np.flatnonzero(is_last)
        waiting = self.take_beyond(len(last))
        self.successor[rows[last]] = waiting
        for _, follower, column in self._followed_writes:
            column[waiting] = fields[follower][last]

    def _steadiness(self, fields: Mapping[str, Array], count: int) -> _Steady | None:
        """What to expect next after one piece was added; None where other agents or episodes will come."""
        ids = fields["agent_id"]
        nobody = bytes(count)
        if any(fields[name].tobytes() != nobody for name in ("terminated", "truncated")):
            return None
        if len(np.unique(ids)) < count:
            return None
        start = (self.total - count) % self.capacity
        rows = self.successor[start : start + count].copy()
        waiting = slice(int(rows[0]), int(rows[0]) + count) if (np.diff(rows) == 1).all() else rows
        who = self._who[start : start + count].copy()
        return _Steady(count, who, ids.tobytes(), fields["episode_id"].tobytes(), nobody, rows, waiting)

    def take_beyond(self, count: int) -> Int64s:
        """Free rows beyond the capacity."""
        if count > len(self.free):
            more = max(count, self.store.rows - self.capacity)
            self.store = self.store.with_rows(self.store.rows + more)
            self.free.extend(more)
            self._list_writes()
        return self.free.take(count)

    def _free_before(self, oldest: int) -> None:
        """Free the rows beyond the capacity of transitions that are about to be overwritten."""
        if oldest <= self._owned_from:
            return
        successor = self.successor[np.arange(self._owned_from, oldest) % self.capacity]
        self.free.give_back(successor[successor >= self.capacity])
        ahead = self.successor[np.arange(oldest, min(oldest + _SCAN, self.total)) % self.capacity] >= self.capacity
        self._owned_from = oldest + (int(ahead.argmax()) if ahead.any() else len(ahead))

    def _completed(self, fields: Mapping[str, Array], count: int) -> Mapping[str, Array]:
        """The fields, with those that only other transitions have; room is made for new ones."""
        self.admit((name for name in fields if not name.startswith("next_") and name not in NOT_KEPT), fields)
        missing = [name for name in self.names if name not in fields]
        self._field_count = NONE if missing else len(fields)
        completed = dict(fields)
        for name in missing:
            field = self.store.fields[name]
            completed[name] = np.full((count, *field.shape), field.absent, field.dtype)
            if field.follower:
                completed[field.follower] = completed[name]
        return completed

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
        names = {*self.names, *new}
        self.names = tuple(name for name in self.store.fields if name in names)
        self._list_writes()

    def _list_writes(self) -> None:
        """Where `add` writes which field."""
        columns, followed = self.store.columns, self.store.followed
        self._who = self.store.side_by_side(_WHO)
        self._ended = self.store.side_by_side(_ENDED)
        self._own_writes = [(name, columns[name]) for name in self.names if name not in {*followed, *_WHO, *_ENDED}]
        self._followed_writes = [(name, followed[name], columns[name]) for name in self.names if name in followed]
