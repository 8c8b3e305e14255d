"""Rows of experience as they come in: opened by a decision, completed by what follows from it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array
from agents_core.contracts.environment import Actions, DecisionSteps, TerminalSteps
from agents_core.spec import BehaviorSpec

Int64s = npt.NDArray[np.int64]


class RowLog:
    """Preallocated columns of one behavior, filled in the order of time.

    A row is opened with an observation, gets its action, and is complete once the reward is there.
    """

    def __init__(self, spec: BehaviorSpec, capacity: int) -> None:
        self._spec = spec
        self._capacity = capacity
        self._size = 0
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

    def open(self, decision: DecisionSteps, episode_id: Int64s, tick: int, memory: Array | None = None) -> slice:
        """Append one row for each agent that needs an action, with what they remember."""
        rows = slice(self._size, self._size + len(decision))
        if rows.stop > self._capacity:
            self._grow(rows.stop)
        self._size = rows.stop
        fields = self._fields
        for i, observation in enumerate(decision.observations):
            fields[f"obs.{i}"][rows] = observation
        fields["agent_id"][rows] = decision.agent_id
        fields["episode_id"][rows] = episode_id
        fields["tick"][rows] = tick
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

    def go_on(self, rows: Int64s, decision: DecisionSteps) -> None:
        """Complete rows whose episode goes on, row for row of `decision`."""
        self._set_rewards(rows, decision)
        self._fields["terminated"][rows] = False
        self._fields["truncated"][rows] = False

    def end(self, rows: Int64s, terminal: TerminalSteps) -> None:
        """Complete rows whose episode ended, row for row of `terminal`."""
        self._set_rewards(rows, terminal)
        self._fields["terminated"][rows] = ~terminal.truncated
        self._fields["truncated"][rows] = terminal.truncated

    def _set_rewards(self, rows: Int64s, steps: DecisionSteps | TerminalSteps) -> None:
        self._fields["reward"][rows] = steps.reward
        self._set_optional("group_reward", rows, steps.group_reward, 0)

    def _set_optional(self, name: str, rows: slice | Int64s, values: Array | None, absent: object) -> None:
        """Fill a column that only some environments need; it is made when it first shows up."""
        if values is not None and name not in self._fields:
            self._fields[name] = np.full((self._capacity, *values.shape[1:]), absent, values.dtype)
        if name in self._fields:
            self._fields[name][rows] = absent if values is None else values

    def _grow(self, needed: int) -> None:
        self._capacity = max(needed, 2 * self._capacity)
        for name, array in self._fields.items():
            self._fields[name] = resized(array, self._capacity)


def resized(array: Array, capacity: int) -> Array:
    """The array with room for more rows."""
    grown = np.zeros((capacity, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
