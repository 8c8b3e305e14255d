"""Endless experience for buffers, in which every transition can be told from the others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents_core.columns import Columns
from agents_core.contracts.buffer import Buffer
from agents_core.spec import BehaviorSpec
from agents_core.testing.transitions import make_transitions

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_STEPS = 100


def fields_to_keep(columns: Columns) -> list[str]:
    """What a buffer must give back of what was added."""
    return [name for name in columns if name not in ("tick", "action.raw", "agent_id", "episode_id")]


class Stream:
    """Transitions of several agents in the order of time; the reward of each is its number.

    Attributes:
        columns: All of them.
        added: How many were given out.
        agents: How many there are.
    """

    agents = 4

    def __init__(self, spec: BehaviorSpec) -> None:
        self.spec = spec
        made = make_transitions(spec, agents=self.agents, steps=_STEPS)
        # An agent acts at most ticks, so that agents come in changing company.
        order = np.lexsort((made["agent_id"], made["tick"] + 3 * made["agent_id"]))
        columns = made.take(order)
        numbers = np.arange(len(columns), dtype=np.float32)
        self.columns = Columns({**columns.fields, "reward": numbers})
        self.added = 0
        self._next = _successors(self.columns)

    def take(self, count: int) -> Columns:
        """The next transitions, in arrays of their own."""
        first, self.added = self.added, self.added + count
        assert self.added <= len(self.columns)
        part = self.columns.take(slice(first, self.added))
        return Columns({name: array.copy() for name, array in part.fields.items() if name != "tick"})

    def add_to(self, buffer: Buffer, count: int, *, spoil: bool = False) -> None:
        """Add the next transitions in portions of different sizes; `spoil` overwrites the arrays afterwards."""
        portions = (1, 4, 2, 7, 3)
        place = 0
        while count:
            columns = self.take(min(count, portions[place % len(portions)]))
            buffer.add(columns)
            if spoil:
                for array in columns.fields.values():
                    array.fill(0)
            count -= len(columns)
            place += 1

    def follows(self, numbers: Ints) -> Bools:
        """For sequences [count, length] of transitions: whether each row but the first is the successor of the one
        before, bool[count, length - 1]."""
        return np.asarray(self._next[numbers[:, :-1]] == numbers[:, 1:])

    def has_successor(self, numbers: Ints) -> Bools:
        """Whether the agent's next transition, in the same episode, was added."""
        after = self._next[numbers]
        return np.asarray((after >= 0) & (after < self.added))


def _successors(columns: Columns) -> Ints:
    """Number of the same agent's next transition in the same episode, -1 where there is none."""
    order = np.lexsort((columns["tick"], columns["agent_id"]))
    after = np.full(len(columns), -1, np.int64)
    agent, episode = columns["agent_id"][order], columns["episode_id"][order]
    goes_on = (agent[1:] == agent[:-1]) & (episode[1:] == episode[:-1])
    after[order[:-1][goes_on]] = order[1:][goes_on]
    return after
