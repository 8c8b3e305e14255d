"""Merges the steps of several sources into one, and splits the actions for them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agents_core.contracts.environment import Actions, BehaviorSteps, DecisionSteps, EnvironmentSteps
from agents_core.environments.stacking import Int64s, stack_decisions, stack_ids, stack_stats, stack_terminals
from agents_core.spec import BehaviorSpec

CheckIds = Callable[[str, int, Int64s], None]
"""`check_ids(behavior, source, agent_id)` is called with the decision steps' agents of a source when they changed."""
Whole = Callable[[str, Int64s], DecisionSteps | None]
"""`whole(behavior, agent_id)`: all sources' decision steps at once, or None where they must be merged."""


@dataclass(slots=True)
class _DecisionRows:
    """Whose rows a behavior's merged decision steps are made of.

    Attributes:
        sources: The sources that have a part in it.
        ids: The agent ids of each, as it gave them.
        merged: The ids in the merged steps.
        counts: Rows of every source, those without a part included.
    """

    sources: list[int]
    ids: list[Int64s]
    merged: Int64s
    counts: list[int]


class Merger:
    """Merges the steps of sources: environment objects, or workers that have merged their own.

    Args:
        indices: Index of each source within the pool.
        total: Environment objects in the whole pool; 1 = the sources' agent ids are unique as they are.
        check_ids: Looks at agent sets that are new.
    """

    def __init__(self, indices: Sequence[int], total: int, check_ids: CheckIds | None = None) -> None:
        self._indices = indices
        self._total = total
        self._check_ids = check_ids
        self._rows: dict[str, _DecisionRows] = {}
        self._present: list[str] = []

    def merge(
        self, steps: Sequence[EnvironmentSteps], specs: Mapping[str, BehaviorSpec], whole: Whole | None = None
    ) -> EnvironmentSteps:
        """The steps of all sources as one; while the agent set is unchanged, with the same `agent_id` object.

        Args:
            steps: Of each source.
            specs: Of every behavior in them.
            whole: Knows decision steps that need no merging, because they lie in memory one below the other.
        """
        if len(steps) == 1 and self._total == 1:
            return self._pass_on(steps[0])
        parts: dict[str, list[int]] = {}
        for source, step in enumerate(steps):
            for name in step.behaviors:
                parts.setdefault(name, []).append(source)
        self._present = list(parts)
        behaviors = {}
        for name, sources in parts.items():
            own = [steps[source].behaviors[name] for source in sources]
            indices = [self._indices[source] for source in sources]
            rows = self._update_rows(name, sources, [part.decision.agent_id for part in own])
            decision = whole(name, rows.merged) if whole is not None else None
            if decision is None:
                decisions = [part.decision for part in own]
                decision = stack_decisions(rows.merged, indices, decisions, specs[name], self._total)
            behaviors[name] = BehaviorSteps(
                decision,
                stack_terminals(indices, [part.terminal for part in own], self._total),
            )
        return EnvironmentSteps(behaviors, stack_stats(steps))

    def _pass_on(self, steps: EnvironmentSteps) -> EnvironmentSteps:
        """The steps of the only source, as they are."""
        self._present = list(steps.behaviors)
        for name, behavior in steps.behaviors.items():
            decision = behavior.decision
            rows = self._rows.get(name)
            if rows is None or decision.agent_id is not rows.merged:
                decision.agent_id = self._update_rows(name, [0], [decision.agent_id]).merged
        return steps

    def _update_rows(self, name: str, sources: list[int], ids: list[Int64s]) -> _DecisionRows:
        rows = self._rows.get(name)
        if rows is not None and rows.sources == sources and all(map(_is, rows.ids, ids)):
            return rows
        if self._check_ids is not None:
            for source, own in zip(sources, ids, strict=True):
                self._check_ids(name, source, own)
        counts = [0] * len(self._indices)
        for source, own in zip(sources, ids, strict=True):
            counts[source] = len(own)
        merged = stack_ids([self._indices[source] for source in sources], ids, self._total)
        if rows is not None and np.array_equal(merged, rows.merged):
            merged = rows.merged
        rows = self._rows[name] = _DecisionRows(sources, ids, merged, counts)
        return rows

    def split(self, actions: Mapping[str, Actions]) -> list[Mapping[str, Actions]]:
        """Each source's part of the actions for the last merged steps.

        Raises:
            ValueError: Actions are missing, or their number differs from the number of decisions.
        """
        for name in self._present:
            _check_rows(name, len(self._rows[name].merged), actions.get(name))
        if len(self._indices) == 1:
            return [{name: actions[name] for name in self._present if len(self._rows[name].merged)}]
        split: list[dict[str, Actions]] = [{} for _ in self._indices]
        for name in self._present:
            start = 0
            for own, count in zip(split, self._rows[name].counts, strict=True):
                if count:
                    rows = slice(start, start + count)
                    own[name] = Actions(actions[name].continuous[rows], actions[name].discrete[rows])
                    start += count
        return list(split)


def _is(one: object, other: object) -> bool:
    return one is other


def _check_rows(name: str, rows: int, actions: Actions | None) -> None:
    if actions is None:
        if rows:
            raise ValueError(f"{rows} agents of behavior '{name}' need an action, but there are none for it")
    elif (found := (len(actions.continuous), len(actions.discrete))) != (rows, rows):
        raise ValueError(f"{rows} agents of behavior '{name}' need an action, found continuous and discrete: {found}")
