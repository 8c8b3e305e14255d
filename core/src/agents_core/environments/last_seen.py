"""The agents of a worker that are alive, so that their episodes can be ended when the worker is lost."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents_core.contracts.environment import BehaviorSteps, DecisionSteps, EnvironmentSteps, TerminalSteps
from agents_core.environments.stacking import Int64s, stack_terminals

Bools = npt.NDArray[np.bool_]


class LastSeen:
    """What the agents that have acted, and have not come back yet, saw last.

    Together with the last decision steps, these are all living agents. It is false when there are none.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, TerminalSteps] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def clear(self) -> None:
        """Forget all agents, as a reset does."""
        self._waiting.clear()

    def update(self, before: EnvironmentSteps, after: EnvironmentSteps) -> None:
        """Take in a worker's next steps; cheap while the agents stay the same.

        Args:
            before: Its last steps, whose arrays must still be as they were.
            after: Its next steps.
        """
        for name in dict.fromkeys((*before.behaviors, *self._waiting)):
            last, behavior = before.behaviors.get(name), after.behaviors.get(name)
            same = last is not None and behavior is not None and _same(behavior, last)
            if name in self._waiting or not same:
                seen = [behavior.decision.agent_id, behavior.terminal.agent_id] if behavior is not None else [_NOBODY]
                self._wait(name, last, np.concatenate(seen))

    def cut(self, before: EnvironmentSteps) -> dict[str, TerminalSteps]:
        """The ends, cut off and without reward, of the episodes of all living agents, by behavior.

        Args:
            before: The last steps.
        """
        ends = {}
        for name in dict.fromkeys((*before.behaviors, *self._waiting)):
            rows = [self._waiting[name]] if name in self._waiting else []
            if name in before.behaviors:
                decision = before.behaviors[name].decision
                rows.insert(0, _cut(decision, np.ones(len(decision), np.bool_)))
            ends[name] = stack_terminals([0] * len(rows), rows, 1)
        return ends

    def _wait(self, name: str, last: BehaviorSteps | None, seen: Int64s) -> None:
        """Of the agents that waited and those that acted last, keep those that are not seen again."""
        rows = []
        if name in self._waiting:
            waiting = self._waiting.pop(name)
            rows.append(_take(waiting, ~np.isin(waiting.agent_id, seen)))
        if last is not None:
            rows.append(_cut(last.decision, ~np.isin(last.decision.agent_id, seen)))
        kept = stack_terminals([0] * len(rows), rows, 1)
        if len(kept):
            self._waiting[name] = kept


_NOBODY = np.empty(0, np.int64)


def _same(one: BehaviorSteps, other: BehaviorSteps) -> bool:
    """Whether the same agents act."""
    ids, others = one.decision.agent_id, other.decision.agent_id
    return ids is others or np.array_equal(ids, others)


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
