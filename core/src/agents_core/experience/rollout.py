"""The rollout buffer: rows as they come in, trajectories as they go out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array, Columns
from agents_core.contracts.environment import DecisionSteps, TerminalSteps
from agents_core.experience.rows import Int64s, RowLog, resized
from agents_core.spec import BehaviorSpec
from agents_core.trajectory import Trajectories


class RolloutBuffer(RowLog):
    """Rows of all agents since the last rollout.

    Rows that are open when the rollout is taken lend their observation to the end of their trajectory.
    """

    def __init__(self, spec: BehaviorSpec, capacity: int) -> None:
        super().__init__(spec, capacity)
        self._complete = np.zeros(capacity, np.bool_)
        self._completed = 0
        self._final_rows: list[Int64s] = []
        self._final_observations: list[tuple[Array, ...]] = []

    @property
    def completed(self) -> int:
        """Rows that have their reward."""
        return self._completed

    def open(self, decision: DecisionSteps, episode_id: Int64s, tick: int, memory: Array | None = None) -> slice:
        rows = super().open(decision, episode_id, tick, memory)
        self._complete[rows] = False
        return rows

    def end(self, rows: Int64s, terminal: TerminalSteps) -> None:
        super().end(rows, terminal)
        self._final_rows.append(rows)
        self._final_observations.append(tuple(np.array(array) for array in terminal.observations))

    def take(self, time_horizon: int) -> Trajectories:
        """All complete rows as trajectories; the buffer is empty afterwards.

        Args:
            time_horizon: Longest trajectory; longer ones are cut and bootstrap at the cut.
        """
        order = np.argsort(self._fields["episode_id"][: self._size], kind="stable")
        episode = self._fields["episode_id"][order]
        complete = self._complete[order]
        next_in_episode = np.zeros(len(order), np.bool_)
        next_in_episode[:-1] = episode[1:] == episode[:-1]
        next_complete = np.zeros(len(order), np.bool_)
        next_complete[:-1] = next_in_episode[:-1] & complete[1:]

        age = _position_in_run(episode)
        last = complete & (~next_complete | (age % time_horizon == time_horizon - 1))
        ends = np.flatnonzero(last)
        finals = self._observations_after(order, ends, next_in_episode[ends])
        rows = order[complete]
        lengths = np.diff(np.flatnonzero(last[complete]), prepend=-1)
        columns = Columns({name: array[rows] for name, array in self._fields.items()})
        self.clear()
        return Trajectories(columns, lengths.astype(np.int64), finals)

    def clear(self) -> None:
        """Forget all rows."""
        self._size = 0
        self._completed = 0
        self._final_rows.clear()
        self._final_observations.clear()

    def _observations_after(self, order: Int64s, ends: Int64s, has_next: npt.NDArray[np.bool_]) -> tuple[Array, ...]:
        """What was seen after the rows `order[ends]`: the episode's next row, or its stored final observation."""
        following = order[np.minimum(ends + has_next, len(order) - 1)]
        finals = tuple(array[following] for array in self.observations(slice(0, self._size)))
        if self._final_rows:
            place_of_row = np.full(self._size, -1, np.int64)
            stored_rows = np.concatenate(self._final_rows)
            place_of_row[stored_rows] = np.arange(len(stored_rows))
            place = place_of_row[order[ends]]
            ended = place >= 0
            for i, final in enumerate(finals):
                stored = np.concatenate([observations[i] for observations in self._final_observations])
                final[ended] = stored[place[ended]]
        return finals

    def _set_rewards(self, rows: Int64s, steps: DecisionSteps | TerminalSteps) -> None:
        super()._set_rewards(rows, steps)
        self._complete[rows] = True
        self._completed += len(rows)

    def _grow(self, needed: int) -> None:
        super()._grow(needed)
        self._complete = resized(self._complete, self._capacity)


def _position_in_run(values: Int64s) -> Int64s:
    """Place of each element within its run of equal neighbours: [7, 7, 9, 9, 9] -> [0, 1, 0, 1, 2]."""
    index = np.arange(len(values))
    starts = np.flatnonzero(np.diff(values, prepend=values[:1] - 1))
    return index - np.repeat(starts, np.diff(starts, append=len(values)))
