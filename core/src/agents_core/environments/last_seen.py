"""The agents of a worker that are alive, so that their episodes can be ended when the worker is lost."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents_core.contracts.environment import DecisionSteps, EnvironmentSteps, TerminalSteps
from agents_core.environments.stacking import Int64s, stack_terminals

Bools = npt.NDArray[np.bool_]


class LastSeen:
    """What each living agent saw last: those of the last decision steps, and those that have acted and not come back.

    It keeps views of shared memory, which stay as they are until the worker has taken two more steps.
    """

    def __init__(self) -> None:
        self._last: dict[str, DecisionSteps] = {}
        self._waiting: dict[str, TerminalSteps] = {}

    def clear(self) -> None:
        """Forget all agents, as a reset does."""
        self._last.clear()
        self._waiting.clear()

    def update(self, steps: EnvironmentSteps) -> None:
        """Take in the worker's next steps; cheap while the agents stay the same."""
        for name in self._last.keys() | steps.behaviors.keys():
            behavior, last = steps.behaviors.get(name), self._last.pop(name, None)
            same = last is not None and behavior is not None and _same(behavior.decision.agent_id, last.agent_id)
            if name in self._waiting or (last is not None and not same):
                seen = [behavior.decision.agent_id, behavior.terminal.agent_id] if behavior is not None else [_NOBODY]
                self._wait(name, last, np.concatenate(seen))
            if behavior is not None:
                self._last[name] = behavior.decision

    def cut(self) -> dict[str, TerminalSteps]:
        """The ends, cut off and without reward, of the episodes of all living agents; by behavior."""
        ends = {}
        for name in self._last.keys() | self._waiting.keys():
            rows = [_cut(self._last[name], np.ones(len(self._last[name]), np.bool_))] if name in self._last else []
            rows += [self._waiting[name]] if name in self._waiting else []
            ends[name] = stack_terminals([0] * len(rows), rows, 1)
        return ends

    def _wait(self, name: str, last: DecisionSteps | None, seen: Int64s) -> None:
        """Of the agents that waited and those that acted last, keep those that are not seen again."""
        rows = []
        if name in self._waiting:
            waiting = self._waiting.pop(name)
            rows.append(_take(waiting, ~np.isin(waiting.agent_id, seen)))
        if last is not None:
            rows.append(_cut(last, ~np.isin(last.agent_id, seen)))
        kept = stack_terminals([0] * len(rows), rows, 1)
        if len(kept):
            self._waiting[name] = kept


_NOBODY = np.empty(0, np.int64)


def _same(one: Int64s, other: Int64s) -> bool:
    return one is other or np.array_equal(one, other)


def _cut(steps: DecisionSteps, rows: Bools) -> TerminalSteps:
    """The ends of the episodes of these agents."""
    count = int(np.count_nonzero(rows))
    return TerminalSteps(
        steps.agent_id[rows],
        tuple(observation[rows] for observation in steps.observations),
        np.zeros(count, np.float32),
        np.ones(count, np.bool_),
        None if steps.group_id is None else steps.group_id[rows],
    )


def _take(steps: TerminalSteps, rows: Bools) -> TerminalSteps:
    return TerminalSteps(
        steps.agent_id[rows],
        tuple(observation[rows] for observation in steps.observations),
        steps.reward[rows],
        steps.truncated[rows],
        None if steps.group_id is None else steps.group_id[rows],
    )
