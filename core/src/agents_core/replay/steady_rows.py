"""The fast way of adding: the same agents act together again and again, as in most runs.

What they see next is then written right to the rows ahead, where their next transitions are going to be, so that an
observation is written once only; and what follows from the agents' being the same is put off until somebody wants to
know, see `SteadyRows.note`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from agents_core.columns import Array
from agents_core.replay.agents import NONE
from agents_core.replay.layout import Field
from agents_core.replay.linked_rows import Bools, Int64s, LinkedRows
from agents_core.replay.writing import KNOWN, FieldWriter

_PUT_OFF = 2048
"""Transitions that are put off, about."""


@dataclass(slots=True)
class _Steady:
    """Agents that act together again and again, and have just done so; what they saw then is in the rows ahead.

    Attributes:
        size: How many.
        agent_id: int64[size]
        episode_id: int64[size]
        agents: `agent_id` as bytes.
        episodes: `episode_id` as bytes; empty where `begins` is not.
        nobody: `terminated` and `truncated` of nobody, as bytes.
        begins: bool[size], whose episode ended and whose rows ahead hold nothing therefore; None = of nobody.
        noted: Transitions from this number on have no agent, end and successor in their row yet; see `note`.
    """

    size: int
    agent_id: Int64s
    episode_id: Int64s
    agents: bytes
    episodes: bytes
    nobody: bytes
    begins: Bools | None
    noted: int


class SteadyRows(LinkedRows):
    """Rows of transitions that come most often from the same agents in the same order."""

    def __init__(self, capacity: int, fields: Mapping[str, Field]) -> None:
        self._steady: _Steady | None = None
        self._is_steady = False
        self._smooth_until = 0
        super().__init__(capacity, fields)

    def add(self, fields: Mapping[str, Array]) -> None:
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
                        if self._writer.write(fields, total):
                            self.total = total + size
                            return
                    elif self._add_at_a_bound(fields, steady):
                        return
                elif self._add_with_ends(fields, steady):
                    return
            except KeyError:
                pass  # As many fields as last time, but others.
        super().add(fields)
        if self._is_steady:
            self._is_steady = False
            self._expect(len(fields["agent_id"]))

    @property
    def _noted(self) -> int:
        return self.total if self._steady is None else self._steady.noted

    def _places_ahead(self, first: int, count: int, agents: int) -> Int64s | None:
        ahead = (first + count) % self.ring
        room = min(self.ring - self.capacity, self.ring - ahead)
        self._is_steady = count == agents and count <= room
        return ahead + np.arange(count) if self._is_steady else None

    def _expect(self, count: int) -> None:
        """The `count` transitions just added are of agents of which one is likely to hear more."""
        first = (self.total - count) % self.ring
        rows = slice(first, first + count)
        columns = self.store.columns
        agent_id, episode_id = columns["agent_id"][rows].copy(), columns["episode_id"][rows].copy()
        ended: Bools = columns["terminated"][rows] | columns["truncated"][rows]
        begins = ended if ended.any() else None
        agents, episodes = agent_id.tobytes(), episode_id.tobytes() if begins is None else b""
        self._steady = _Steady(count, agent_id, episode_id, agents, episodes, bytes(count), begins, self.total)
        self._writer.expect(agent_id, episode_id)
        self._find_bound(self._steady)

    def note(self) -> None:
        """Write down what `add` put off for those that act together again and again."""
        steady = self._steady
        if steady is None or steady.noted == self.total:
            return
        self._writer.flush(steady.noted % self.ring, self.total - steady.noted)
        steady.noted = self.total

    def _find_bound(self, steady: _Steady) -> None:
        """Find out how long transitions may be added without looking at anything else."""
        size = steady.size
        until_wrap = self.total - self.total % self.ring + self.ring - 2 * size
        until_note = steady.noted + max(1, self._writer.enough // size) * size - size
        until_owned = self._owned_from + self.capacity - size
        self._smooth_until = min(until_wrap, until_note, until_owned) + 1

    def _add_at_a_bound(self, fields: Mapping[str, Array], steady: _Steady) -> bool:
        """As `add` does it for most, near the end of the ring or where something is to be noted or freed.

        Returns:
            Whether it could be; False = the rows ahead would wrap around, or the fields are not as those of the rows.
        """
        first = self.total % self.ring
        if first + 2 * steady.size > self.ring or not self._writer.write(fields, self.total):
            return False
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
        order = np.argsort(steady.agent_id)
        last = np.where(goes_on, numbers, NONE)[order]
        self.agents.replace(steady.agent_id[order], last, steady.episode_id[order], self.total - len(self))
        rows = self.rows_of(numbers[goes_on])
        beyond = self.take_beyond(len(rows))
        for _, _, column in self._followed_writes:
            column[beyond] = column[self._successor[rows]]
        self._successor[rows] = beyond
        self._owned_from = min(self._owned_from, int(numbers[0]))

    def _add_with_ends(self, fields: Mapping[str, Array], steady: _Steady) -> bool:
        """One more transition of each of the same agents; episodes may end with it, and begin if they ended before.

        Returns:
            Whether it could be; False = an episode was left without an end, the rows ahead would wrap around, or a
            field has another shape than its rows.
        """
        first = self.total % self.ring
        ahead = (first + steady.size) % self.ring
        if ahead + steady.size > self.ring or len(fields["agent_id"]) != steady.size or self._misfit(fields):
            return False
        goes_on = fields["episode_id"] == steady.episode_id
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
        self._expect(steady.size)
        return True

    def _list_writes(self) -> None:
        super()._list_writes()
        followed = self.store.followed
        own = [name for name in self.names if name not in {*followed, *KNOWN}]
        followers = {name: followed[name] for name in self.names if name in followed}
        enough, agents = min(_PUT_OFF, self.capacity), self.ring - self.capacity
        self._writer = FieldWriter(self.store, self.ring, own, followers, enough, agents)
