"""One behavior's steps and actions in shared memory."""

from __future__ import annotations

import math
import mmap
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from agents_core.columns import Array
from agents_core.contracts.environment import Actions, BehaviorSteps, DecisionSteps, TerminalSteps
from agents_core.environments.stacking import Int64s
from agents_core.spec import BehaviorSpec

ALIGNMENT = 64
MASK, GROUP_ID, GROUP_REWARD, TERMINAL_GROUP_ID, TERMINAL_GROUP_REWARD = 1, 2, 4, 8, 16
"""Flags: which of the arrays that may be missing are there."""
DECISION_FLAGS = MASK | GROUP_ID | GROUP_REWARD


class ArrayAllocator:
    """Places arrays one after another in a buffer; without one, only counts the bytes (`offset`)."""

    def __init__(self, buffer: mmap.mmap | None) -> None:
        self._buffer = buffer
        self.offset = 0

    def take(self, shape: tuple[int, ...], dtype: str) -> Array:
        """The next array, of zeros in a new buffer."""
        offset = self.offset
        size = math.prod(shape) * np.dtype(dtype).itemsize
        self.offset += -(-size // ALIGNMENT) * ALIGNMENT
        if self._buffer is None or size == 0:
            return np.empty(shape if size == 0 else 0, dtype)
        return np.ndarray(shape, dtype, self._buffer, offset)


@dataclass(frozen=True, slots=True)
class BehaviorLayout:
    """Rows of one behavior.

    Attributes:
        name: The behavior.
        spec: Its spec.
        decisions: Rows of each worker in the tables of decision steps and of actions.
        terminals: Rows of each worker in the tables of terminal steps.
    """

    name: str
    spec: BehaviorSpec
    decisions: tuple[int, ...]
    terminals: tuple[int, ...]


class BehaviorTables:
    """Tables in which every worker has rows of its own, one worker after another.

    A table whose workers fill all their rows is the merged steps, without a copy. Steps are written into two halves in
    turn, so that the last observations outlive a worker that dies while it writes.
    """

    def __init__(self, layout: BehaviorLayout, arrays: ArrayAllocator) -> None:
        self.layout = layout
        spec, rows, ends = layout.spec, sum(layout.decisions), sum(layout.terminals)
        self._first_decision = [0, *accumulate(layout.decisions)]
        self._first_terminal = [0, *accumulate(layout.terminals)]
        self._agent_id: Int64s = arrays.take((rows,), "int64")
        self._continuous = arrays.take((rows, spec.action.continuous_size), "float32")
        self._discrete = arrays.take((rows, len(spec.action.discrete_branches)), "int64")
        self._decisions = [_take_decisions(spec, rows, self._agent_id, arrays) for _ in range(2)]
        self._terminals = [_take_terminals(spec, ends, arrays) for _ in range(2)]
        self._whole: dict[tuple[int, int], DecisionSteps] = {}
        self._read: dict[tuple[int, int], tuple[tuple[int, int, int], BehaviorSteps]] = {}

    def fits(self, worker: int, steps: BehaviorSteps) -> bool:
        """Whether the worker's rows can hold the steps."""
        layout = self.layout
        return (
            len(steps.decision.agent_id) <= layout.decisions[worker]
            and len(steps.terminal.agent_id) <= layout.terminals[worker]
        )

    def write_agents(self, worker: int, agent_id: Int64s) -> None:
        """Write who stands in the worker's decision rows."""
        self._agent_id[self._decision_rows(worker, len(agent_id))] = agent_id

    def read_agents(self, worker: int, count: int) -> Int64s:
        """A copy of who stands in the worker's decision rows."""
        return self._agent_id[self._decision_rows(worker, count)].copy()

    def write(self, half: int, worker: int, steps: BehaviorSteps) -> int:
        """Write a worker's steps, which must fit, without the decision steps' agents.

        Returns:
            The flags of the arrays that are there.
        """
        decision, terminal = steps.decision, steps.terminal
        flags, table = 0, self._decisions[half]
        rows = self._decision_rows(worker, len(decision.agent_id))
        for target, source in zip(table.observations, decision.observations, strict=True):
            target[rows] = source
        table.reward[rows] = decision.reward
        flags |= _write(table.action_mask, rows, decision.action_mask, MASK)
        flags |= _write(table.group_id, rows, decision.group_id, GROUP_ID)
        flags |= _write(table.group_reward, rows, decision.group_reward, GROUP_REWARD)
        if len(terminal.agent_id):
            ends = self._terminals[half]
            rows = self._terminal_rows(worker, len(terminal.agent_id))
            ends.agent_id[rows] = terminal.agent_id
            for target, source in zip(ends.observations, terminal.observations, strict=True):
                target[rows] = source
            ends.reward[rows] = terminal.reward
            ends.truncated[rows] = terminal.truncated
            flags |= _write(ends.group_id, rows, terminal.group_id, TERMINAL_GROUP_ID)
            flags |= _write(ends.group_reward, rows, terminal.group_reward, TERMINAL_GROUP_REWARD)
        return flags

    def read(
        self, half: int, worker: int, decisions: int, terminals: int, flags: int, agent_id: Int64s
    ) -> BehaviorSteps:
        """Views of a worker's steps; the same object again while nothing but numbers has changed.

        Args:
            half: Where they were written.
            worker: Who wrote them.
            decisions: How many decision rows there are.
            terminals: How many terminal rows there are.
            flags: As returned by `write`.
            agent_id: Who stands in the decision rows.
        """
        shape = (decisions, terminals, flags)
        known = self._read.get((half, worker))
        if known is None or known[0] != shape:
            rows, ends = self._decision_rows(worker, decisions), self._terminal_rows(worker, terminals)
            steps = BehaviorSteps(
                _decision_views(self._decisions[half], rows, flags, agent_id),
                _terminal_views(self._terminals[half], ends, flags),
            )
            known = self._read[half, worker] = (shape, steps)
        known[1].decision.agent_id = agent_id
        return known[1]

    def whole(self, half: int, flags: int, agent_id: Int64s) -> DecisionSteps:
        """Views of all workers' decision rows at once; the same object again for the same half and flags."""
        steps = self._whole.get((half, flags))
        if steps is None:
            steps = self._whole[half, flags] = _decision_views(self._decisions[half], slice(None), flags, agent_id)
        steps.agent_id = agent_id
        return steps

    def write_actions(self, worker: int, actions: Actions) -> None:
        """Write what the worker's agents do."""
        rows = self._decision_rows(worker, len(actions.discrete))
        self._continuous[rows] = actions.continuous
        self._discrete[rows] = actions.discrete

    def read_actions(self, worker: int, count: int) -> Actions:
        """Views of what the worker's agents do."""
        rows = self._decision_rows(worker, count)
        return Actions(self._continuous[rows], self._discrete[rows])

    def _decision_rows(self, worker: int, count: int) -> slice:
        first = self._first_decision[worker]
        return slice(first, first + count)

    def _terminal_rows(self, worker: int, count: int) -> slice:
        first = self._first_terminal[worker]
        return slice(first, first + count)


def _take_observations(spec: BehaviorSpec, rows: int, arrays: ArrayAllocator) -> tuple[Array, ...]:
    return tuple(arrays.take((rows, *observation.shape), observation.dtype) for observation in spec.observations)


def _take_decisions(spec: BehaviorSpec, rows: int, agent_id: Int64s, arrays: ArrayAllocator) -> DecisionSteps:
    return DecisionSteps(
        agent_id,
        _take_observations(spec, rows, arrays),
        arrays.take((rows,), "float32"),
        arrays.take((rows, spec.action.mask_size), "bool"),
        arrays.take((rows,), "int64"),
        arrays.take((rows,), "float32"),
    )


def _take_terminals(spec: BehaviorSpec, rows: int, arrays: ArrayAllocator) -> TerminalSteps:
    return TerminalSteps(
        arrays.take((rows,), "int64"),
        _take_observations(spec, rows, arrays),
        arrays.take((rows,), "float32"),
        arrays.take((rows,), "bool"),
        arrays.take((rows,), "int64"),
        arrays.take((rows,), "float32"),
    )


def _write(target: Array | None, rows: slice, source: Array | None, flag: int) -> int:
    """Write an array that may be missing; its flag if it is there."""
    if source is None or target is None:
        return 0
    target[rows] = source
    return flag


def _view(array: Array | None, rows: slice, present: int) -> Array | None:
    return array[rows] if present and array is not None else None


def _decision_views(table: DecisionSteps, rows: slice, flags: int, agent_id: Int64s) -> DecisionSteps:
    return DecisionSteps(
        agent_id,
        tuple(observation[rows] for observation in table.observations),
        table.reward[rows],
        _view(table.action_mask, rows, flags & MASK),
        _view(table.group_id, rows, flags & GROUP_ID),
        _view(table.group_reward, rows, flags & GROUP_REWARD),
    )


def _terminal_views(table: TerminalSteps, rows: slice, flags: int) -> TerminalSteps:
    return TerminalSteps(
        table.agent_id[rows],
        tuple(observation[rows] for observation in table.observations),
        table.reward[rows],
        table.truncated[rows],
        _view(table.group_id, rows, flags & TERMINAL_GROUP_ID),
        _view(table.group_reward, rows, flags & TERMINAL_GROUP_REWARD),
    )
