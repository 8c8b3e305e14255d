"""The rollout buffer: rows as they come in, trajectories as they go out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array, Columns
from agents_core.contracts.environment import Actions, DecisionSteps, TerminalSteps
from agents_core.spec import BehaviorSpec
from agents_core.trajectory import Trajectories

Int64s = npt.NDArray[np.int64]


class RolloutBuffer:
    """Preallocated columns of one behavior, filled in the order of time.

    A row is opened with an observation, gets its action, and is complete once the reward is there. Rows that are open
    when the rollout is taken lend their observation to the end of their trajectory.
    """

    def __init__(self, spec: BehaviorSpec, capacity: int) -> None:
        self._spec = spec
        self._fields: dict[str, Array] = {
            "reward": np.zeros(capacity, np.float32),
            "terminated": np.zeros(capacity, np.bool_),
            "truncated": np.zeros(capacity, np.bool_),
            "agent_id": np.zeros(capacity, np.int64),
            "episode_id": np.zeros(capacity, np.int64),
            "tick": np.zeros(capacity, np.int64),
        }
        for i, observation in enumerate(spec.observations):
            self._fields[f"obs.{i}"] = np.zeros((capacity, *observation.shape), observation.numpy_dtype)
        for name in ("action.continuous", "action.raw"):
            self._fields[name] = np.zeros((capacity, spec.action.continuous_size), np.float32)
        self._fields["action.discrete"] = np.zeros((capacity, len(spec.action.discrete_branches)), np.int64)
        self._complete = np.zeros(capacity, np.bool_)
        self._size = 0
        self._completed = 0
        self._final_rows: list[Int64s] = []
        self._final_observations: list[tuple[Array, ...]] = []

    @property
    def completed(self) -> int:
        """Rows that have their reward."""
        return self._completed

    def open(self, decision: DecisionSteps, episode_id: Int64s, tick: int, memory: Array | None = None) -> slice:
        """Append one row for each agent that needs an action, with what they remember."""
        rows = slice(self._size, self._size + len(decision))
        if rows.stop > len(self._complete):
            self._grow(rows.stop)
        self._size = rows.stop
        fields = self._fields
        for i, observation in enumerate(decision.observations):
            fields[f"obs.{i}"][rows] = observation
        fields["agent_id"][rows] = decision.agent_id
        fields["episode_id"][rows] = episode_id
        fields["tick"][rows] = tick
        self._complete[rows] = False
        self._set_optional("action_mask", rows, decision.action_mask, True)
        self._set_optional("group_id", rows, decision.group_id, -1)
        self._set_optional("memory.actor", rows, memory, 0)
        return rows

    def observations(self, rows: slice) -> tuple[Array, ...]:
        """Views of the rows' observations."""
        return tuple(self._fields[f"obs.{i}"][rows] for i in range(len(self._spec.observations)))

    def set_actions(self, rows: slice, actions: Actions) -> None:
        """Fill in what the agents of the rows do."""
        if self._spec.action.continuous_size:
            self._fields["action.continuous"][rows] = actions.continuous
            self._fields["action.raw"][rows] = actions.continuous if actions.raw is None else actions.raw
        if self._spec.action.discrete_branches:
            self._fields["action.discrete"][rows] = actions.discrete

    def set_rewards(self, rows: Int64s, reward: Array, group_reward: Array | None) -> None:
        """Complete rows whose episode goes on."""
        self._set_rewards(rows, reward, group_reward)
        self._fields["terminated"][rows] = False
        self._fields["truncated"][rows] = False

    def end(self, rows: Int64s, terminal: TerminalSteps) -> None:
        """Complete rows whose episode ended, row for row of `terminal`."""
        self._set_rewards(rows, terminal.reward, terminal.group_reward)
        self._fields["terminated"][rows] = ~terminal.truncated
        self._fields["truncated"][rows] = terminal.truncated
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

    def _set_rewards(self, rows: Int64s, reward: Array, group_reward: Array | None) -> None:
        self._fields["reward"][rows] = reward
        self._set_optional("group_reward", rows, group_reward, 0)
        self._complete[rows] = True
        self._completed += len(rows)

    def _set_optional(self, name: str, rows: slice | Int64s, values: Array | None, absent: object) -> None:
        """Fill a column that only some environments need; it is made when it first shows up."""
        if values is not None and name not in self._fields:
            self._fields[name] = np.full((len(self._complete), *values.shape[1:]), absent, values.dtype)
        if name in self._fields:
            self._fields[name][rows] = absent if values is None else values

    def _grow(self, needed: int) -> None:
        capacity = max(needed, 2 * len(self._complete))
        for name, array in self._fields.items():
            self._fields[name] = _resized(array, capacity)
        self._complete = _resized(self._complete, capacity)


def _resized(array: Array, capacity: int) -> Array:
    grown = np.zeros((capacity, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown


def _position_in_run(values: Int64s) -> Int64s:
    """Place of each element within its run of equal neighbours: [7, 7, 9, 9, 9] -> [0, 1, 0, 1, 2]."""
    index = np.arange(len(values))
    starts = np.flatnonzero(np.diff(values, prepend=values[:1] - 1))
    return index - np.repeat(starts, np.diff(starts, append=len(values)))
