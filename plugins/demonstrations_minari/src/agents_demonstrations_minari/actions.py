"""Action spaces as columns: continuous dimensions in [-1, 1] side by side, discrete choices as branches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from agents_core.columns import Array
from agents_core.demonstrations import DemonstrationError
from agents_core.spec import ActionSpec
from gymnasium import Space, spaces

_LARGEST_FINITE = float(np.finfo(np.float32).max)


class ActionLayout:
    """What the actions of a space become.

    Raises:
        DemonstrationError: It has a part that agents cannot act in.
    """

    def __init__(self, space: Space[Any]) -> None:
        self._space = space
        boxes = [leaf for leaf, _ in _parts(space, None) if isinstance(leaf, spaces.Box)]
        sizes = [int(np.prod(box.shape, dtype=np.int64)) for box in boxes]
        branches = [int(count) for leaf, _ in _parts(space, None) for count in _counts(leaf)]
        self.spec = ActionSpec(sum(sizes), tuple(branches), bounded=all(_bounds(box)[0].all() for box in boxes))

    def read(self, actions: Any) -> tuple[Array, Array]:
        """float32[n, continuous] and int64[n, branches] of the actions of an episode."""
        continuous, discrete = [], []
        rows = 0
        for leaf, values in _parts(self._space, actions):
            values = np.asarray(values)
            rows = len(values)
            if isinstance(leaf, spaces.Box):
                has_bounds, center, half = _bounds(leaf)
                flat = values.reshape(rows, -1).astype(np.float64)
                continuous.append(np.where(has_bounds, (flat - center) / half, flat).astype(np.float32))
            else:
                discrete.append(values.reshape(rows, -1).astype(np.int64) - _start(leaf))
        return (
            np.concatenate([np.empty((rows, 0), np.float32), *continuous], axis=1),
            np.concatenate([np.empty((rows, 0), np.int64), *discrete], axis=1),
        )


def space_of(spec: ActionSpec) -> Space[Any]:
    """A space that holds the actions: Box, Discrete or MultiDiscrete, or a Tuple of Box and MultiDiscrete."""
    limit = 1.0 if spec.bounded else np.inf
    box = spaces.Box(-limit, limit, (spec.continuous_size,), np.float32)
    choices = spaces.MultiDiscrete(list(spec.discrete_branches)) if spec.discrete_branches else None
    if choices is None:
        return box
    if spec.continuous_size:
        return spaces.Tuple((box, choices))
    return spaces.Discrete(spec.discrete_branches[0]) if len(spec.discrete_branches) == 1 else choices


def values_of(spec: ActionSpec, continuous: Array, discrete: Array) -> Any:
    """The actions of an episode as `space_of` has them."""
    if not spec.discrete_branches:
        return continuous
    if spec.continuous_size:
        return continuous, discrete
    return discrete[:, 0] if len(spec.discrete_branches) == 1 else discrete


def _parts(space: Space[Any], values: Any) -> Iterator[tuple[Space[Any], Any]]:
    """Each leaf of a space with its values, None where there are none."""
    if isinstance(space, spaces.Dict):
        for key, child in space.spaces.items():
            yield from _parts(child, None if values is None else values[key])
    elif isinstance(space, spaces.Tuple):
        for index, child in enumerate(space.spaces):
            yield from _parts(child, None if values is None else values[index])
    elif isinstance(space, spaces.Box | spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary):
        yield space, values
    else:
        raise DemonstrationError(f"actions in a {type(space).__name__} space are not possible")


def _counts(leaf: Space[Any]) -> list[int]:
    """Choices of each branch."""
    if isinstance(leaf, spaces.Discrete):
        return [int(leaf.n)]
    if isinstance(leaf, spaces.MultiDiscrete):
        return [int(count) for count in leaf.nvec.reshape(-1)]
    return [2] * int(np.prod(leaf.shape, dtype=np.int64)) if isinstance(leaf, spaces.MultiBinary) else []


def _start(leaf: Space[Any]) -> Array:
    if isinstance(leaf, spaces.Discrete | spaces.MultiDiscrete):
        return np.asarray(leaf.start, np.int64).reshape(-1)
    return np.zeros(1, np.int64)


def _bounds(box: spaces.Box) -> tuple[Array, Array, Array]:
    """Whether a dimension has two bounds; the center of its range, and half of its width."""
    low, high = box.low.reshape(-1).astype(np.float64), box.high.reshape(-1).astype(np.float64)
    has_bounds = (np.abs(low) < _LARGEST_FINITE) & (np.abs(high) < _LARGEST_FINITE)
    low, high = np.where(has_bounds, low, -1.0), np.where(has_bounds, high, 1.0)
    return has_bounds, (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
