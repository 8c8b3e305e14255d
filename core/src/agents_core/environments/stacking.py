"""Steps of several environment objects, one below the other.

The id of an agent of object i of m becomes `id · m + i`, and a group's likewise (-1, no group, stays), so that ids
are unique over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array
from agents_core.contracts.environment import DecisionSteps, EnvironmentSteps, TerminalSteps
from agents_core.spec import BehaviorSpec

Int64s = npt.NDArray[np.int64]


def stack_ids(indices: Sequence[int], ids: Sequence[Int64s], total: int) -> Int64s:
    """Agent ids of the objects with these indices, made unique over `total` objects: int64[n]."""
    unique = [own * total + index if total > 1 else own for index, own in zip(indices, ids, strict=True) if len(own)]
    if len(unique) == 1:
        return unique[0]
    return np.concatenate(unique) if unique else np.empty(0, np.int64)


def stack_decisions(
    agent_id: Int64s, indices: Sequence[int], steps: Sequence[DecisionSteps], spec: BehaviorSpec, total: int
) -> DecisionSteps:
    """One behavior's decision steps of the objects with these indices; a single one's arrays are not copied.

    A mask that only some have allows everything in the rows of the others; they are in no group.

    Args:
        agent_id: Stacked already.
        indices: Index of each object among `total`.
        steps: Of each of these objects.
        spec: The behavior's spec.
        total: Objects in the whole pool.
    """
    filled = _filled(steps)
    steps, group_id = [steps[place] for place in filled], _stack_groups(indices, steps, filled, total)
    if len(steps) == 1:
        only = steps[0]
        return DecisionSteps(agent_id, only.observations, only.reward, only.action_mask, group_id, only.group_reward)
    counts = [len(step.agent_id) for step in steps]
    return DecisionSteps(
        agent_id,
        _stack_observations(steps),
        np.concatenate([step.reward for step in steps]),
        _stack_optional([step.action_mask for step in steps], counts, (spec.action.mask_size,), True),
        group_id,
        _stack_optional([step.group_reward for step in steps], counts, (), 0.0),
    )


def stack_terminals(indices: Sequence[int], steps: Sequence[TerminalSteps], total: int) -> TerminalSteps:
    """One behavior's terminal steps, as `stack_decisions`."""
    filled = _filled(steps)
    if not len(steps[filled[0]].agent_id):
        return steps[0]
    agent_id = stack_ids(indices, [step.agent_id for step in steps], total)
    steps, group_id = [steps[place] for place in filled], _stack_groups(indices, steps, filled, total)
    if len(steps) == 1:
        only = steps[0]
        return TerminalSteps(agent_id, only.observations, only.reward, only.truncated, group_id, only.group_reward)
    counts = [len(step.agent_id) for step in steps]
    return TerminalSteps(
        agent_id,
        _stack_observations(steps),
        np.concatenate([step.reward for step in steps]),
        np.concatenate([step.truncated for step in steps]),
        group_id,
        _stack_optional([step.group_reward for step in steps], counts, (), 0.0),
    )


def _filled(steps: Sequence[DecisionSteps | TerminalSteps]) -> list[int]:
    """Places of the steps that hold agents, or of the first if none does.

    In most steps hardly an episode ends; leaving the others out is what makes merging ends cheap.
    """
    return [place for place, step in enumerate(steps) if len(step.agent_id)] or [0]


def nobody_decides(spec: BehaviorSpec) -> DecisionSteps:
    """Decision steps of no agents."""
    observations = tuple(np.empty((0, *observation.shape), observation.dtype) for observation in spec.observations)
    return DecisionSteps(np.empty(0, np.int64), observations, np.empty(0, np.float32))


def stack_stats(steps: Sequence[EnvironmentSteps]) -> dict[str, list[float]]:
    """The environments' own statistics, one after another."""
    if len(steps) == 1:
        return steps[0].stats
    stacked: dict[str, list[float]] = {}
    for step in steps:
        for key, values in step.stats.items():
            stacked.setdefault(key, []).extend(values)
    return stacked


def _stack_observations(steps: Sequence[DecisionSteps | TerminalSteps]) -> tuple[Array, ...]:
    return tuple(np.concatenate(arrays) for arrays in zip(*(step.observations for step in steps), strict=True))


def _stack_groups(
    indices: Sequence[int],
    steps: Sequence[DecisionSteps | TerminalSteps],
    filled: Sequence[int],
    total: int,
) -> Int64s | None:
    groups = [steps[place].group_id for place in filled]
    if total > 1:
        groups = [
            None if group is None else np.where(group < 0, -1, group * total + indices[place])
            for place, group in zip(filled, groups, strict=True)
        ]
    return _stack_optional(groups, [len(steps[place].agent_id) for place in filled], (), -1)


def _stack_optional(
    arrays: Sequence[Array | None], counts: Sequence[int], row_shape: tuple[int, ...], default: float
) -> Array | None:
    """The arrays one below the other with `default` in the rows of those that are not there; None if none is."""
    present = next((array for array in arrays if array is not None), None)
    if present is None or len(arrays) == 1:
        return present
    return np.concatenate(
        [
            np.full((count, *row_shape), default, present.dtype) if array is None else array
            for array, count in zip(arrays, counts, strict=True)
        ]
    )
