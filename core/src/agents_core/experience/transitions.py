"""Collecting for trainers of transitions: each row goes out as soon as what follows from it is there."""

from __future__ import annotations

import numpy as np

from agents_core.columns import Columns
from agents_core.contracts.environment import DecisionSteps, TerminalSteps
from agents_core.experience.agents import NO_ROW
from agents_core.experience.collector import Collector
from agents_core.experience.rows import Int64s, RowLog
from agents_core.spec import BehaviorSpec

FEWEST_ROWS = 64
"""Room for rows at the start."""


class TransitionLog(RowLog):
    """Rows that wait for what follows from them, and those that wait to be handed out."""

    def __init__(self, spec: BehaviorSpec) -> None:
        super().__init__(spec, FEWEST_ROWS)
        for i in range(len(spec.observations)):
            self._fields[f"next_obs.{i}"] = np.zeros_like(self._fields[f"obs.{i}"])
        self._ready: list[Int64s] = []

    @property
    def ready(self) -> int:
        """Rows that wait to be handed out."""
        return sum(map(len, self._ready))

    def is_full(self, further: int) -> bool:
        """Whether there is no room for so many further rows."""
        return self._size + further > self._capacity

    def go_on(self, rows: Int64s, decision: DecisionSteps) -> None:
        super().go_on(rows, decision)
        self._set_optional("next_action_mask", rows, decision.action_mask, True)
        self._follow(rows, decision)

    def end(self, rows: Int64s, terminal: TerminalSteps) -> None:
        super().end(rows, terminal)
        self._set_optional("next_action_mask", rows, None, True)
        self._follow(rows, terminal)

    def _follow(self, rows: Int64s, steps: DecisionSteps | TerminalSteps) -> None:
        for i, observation in enumerate(steps.observations):
            self._fields[f"next_obs.{i}"][rows] = observation
        self._ready.append(rows)

    def take(self) -> Columns:
        """The complete rows in the order in which they were completed."""
        rows = self._ready_rows()
        self._ready.clear()
        if "action_mask" in self._fields and "next_action_mask" not in self._fields:
            self._set_optional("next_action_mask", rows[:0], self._fields["action_mask"][:0], True)
        return Columns({name: array[rows] for name, array in self._fields.items()})

    def drop(self) -> None:
        """Forget the complete rows."""
        self._ready.clear()

    def compact(self, waiting: Int64s, further: int) -> Int64s:
        """Move all rows that somebody waits for to the front and make room for further ones.

        Args:
            waiting: int64[n], open rows; negative ones are no rows.
            further: Rows to make room for, as often again before the next call.

        Returns:
            Where the rows of `waiting` are now, negative ones as they were.
        """
        is_row = waiting >= 0
        ready = self._ready_rows()
        kept = np.concatenate([ready, waiting[is_row]])
        for array in self._fields.values():
            array[: len(kept)] = array[kept]
        self._size = len(kept)
        self._ready = [np.arange(len(ready))]
        moved = waiting.copy()
        moved[is_row] = np.arange(len(ready), len(kept))
        needed = self._size + further
        if 2 * needed > self._capacity:
            self._grow(4 * needed)
        return moved

    def _ready_rows(self) -> Int64s:
        return np.concatenate([np.empty(0, np.int64), *self._ready]) if len(self._ready) != 1 else self._ready[0]


class TransitionCollector(Collector):
    """For trainers of transitions, which outlive the update: an agent that waits for its reward keeps its row.

    Args:
        spec: What the agents see and do.
        memory_size: As of the policy.
    """

    def __init__(self, spec: BehaviorSpec, memory_size: int = 0) -> None:
        self._transitions = TransitionLog(spec)
        super().__init__(self._transitions, memory_size)

    @property
    def rows(self) -> int:
        return self._transitions.ready

    def take(self) -> Columns:
        """Transitions that were completed since the last call, with `next_obs.<i>`."""
        return self._transitions.take()

    def discard(self) -> None:
        self._transitions.drop()

    def restart(self) -> None:
        self.discard()
        super().restart()

    def _open_rows(self, decision: DecisionSteps) -> None:
        agents = self._agents
        if self._transitions.is_full(len(decision)):
            # The agents that act now have had what their last row waited for.
            agents.row[self._slots] = NO_ROW
            agents.row = self._transitions.compact(agents.row, len(decision))
        super()._open_rows(decision)
