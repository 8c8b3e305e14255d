"""Action spaces as columns: continuous dimensions side by side, discrete choices as branches.

A Dict or Tuple space gives its parts in its own order: the continuous ones fill `Actions.continuous`, the discrete ones
`Actions.discrete`. Every action that comes out satisfies the space's `contains`, whatever finite numbers went in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from agents_core.columns import Array
from agents_core.contracts.environment import Actions
from agents_core.errors import UserError
from agents_core.spec import ActionSpec
from gymnasium import Space, spaces

_LARGEST_FINITE = float(np.finfo(np.float32).max)
"""A bound of this size stands for none."""
_MOST_CHOICES = 1_000_000


class Node(Protocol):
    """One space in the tree of an action space.

    Attributes:
        continuous_size: Continuous dimensions below it.
        branches: Choices of each discrete branch below it.
        bounded: Whether all its continuous dimensions have two bounds.
    """

    continuous_size: int
    branches: tuple[int, ...]
    bounded: bool

    def batch(self, continuous: Array, discrete: Array) -> Any:
        """Actions of n environments, from their own columns [n, continuous_size] and [n, branches]."""

    def rows(self, batch: Any) -> Sequence[Any]:
        """What `batch` gave, as one action for each environment."""


class BoxNode:
    """A Box: [-1, 1] is stretched to its bounds; a dimension with an infinite bound is passed through."""

    branches: tuple[int, ...] = ()

    def __init__(self, space: spaces.Box) -> None:
        self.continuous_size = int(np.prod(space.shape, dtype=np.int64))
        self._shape, self._dtype = space.shape, space.dtype
        self._is_whole = not np.issubdtype(space.dtype, np.floating)
        # Whole numbers and float64 need more digits than float32 has.
        wide = np.float32 if space.dtype in (np.float16, np.float32) else np.float64
        low, high = space.low.reshape(-1), space.high.reshape(-1)
        self._low, self._high = _finite(low, wide, towards=np.inf), _finite(high, wide, towards=-np.inf)

        bottom, top = low.astype(np.float64), high.astype(np.float64)
        has_bounds = space.bounded_below.reshape(-1) & space.bounded_above.reshape(-1)
        has_bounds &= (np.abs(bottom) < _LARGEST_FINITE) & (np.abs(top) < _LARGEST_FINITE)
        self.bounded = bool(has_bounds.all())
        bottom[~has_bounds], top[~has_bounds] = -1.0, 1.0
        self._half, self._center = ((top - bottom) / 2).astype(wide), ((top + bottom) / 2).astype(wide)
        self._is_scaled = not ((bottom == -1).all() and (top == 1).all())

    def batch(self, continuous: Array, discrete: Array) -> Array:  # noqa: ARG002
        values = continuous
        if self._is_scaled:
            values = values * self._half + self._center
        values = np.minimum(np.maximum(values, self._low), self._high)
        if self._is_whole:
            values = np.rint(values)
        if values.dtype != self._dtype:
            values = values.astype(self._dtype)
        return values if len(self._shape) == 1 else values.reshape(-1, *self._shape)

    def rows(self, batch: Array) -> Sequence[Any]:
        return list(batch) if self._shape else [np.asarray(value) for value in batch]


def _finite(bound: Array, dtype: type[np.floating[Any]], towards: float) -> Array:
    """A bound as a finite number of `dtype`; where that cannot hold it, the nearest on the side of `towards`."""
    if np.issubdtype(bound.dtype, np.floating):
        info = np.finfo(bound.dtype)
        return np.clip(bound, info.min, info.max).astype(dtype)
    cast = bound.astype(dtype)
    for index, value in enumerate(bound):
        excess = int(cast[index]) - int(value)
        if excess < 0 < towards or towards < 0 < excess:
            cast[index] = np.nextafter(cast[index], towards)
    return cast


class ChoiceNode:
    """A Discrete, MultiDiscrete or MultiBinary: one branch for each of its numbers, counted from its start."""

    continuous_size = 0
    bounded = True

    def __init__(self, space: Space[Any], counts: Array, start: Array) -> None:
        self.branches = tuple(int(count) for count in counts.reshape(-1))
        self._shape, self._dtype = counts.shape, space.dtype
        self._start = start.reshape(-1).astype(np.int64)
        self._has_start = bool(self._start.any())

    def batch(self, continuous: Array, discrete: npt.NDArray[np.int64]) -> Array:  # noqa: ARG002
        values = discrete + self._start if self._has_start else discrete
        return values.astype(self._dtype, copy=False).reshape(-1, *self._shape)

    def rows(self, batch: Array) -> Sequence[Any]:
        # For a Discrete these are NumPy numbers, as its `sample` gives.
        return list(batch)


class GroupNode:
    """A Dict or Tuple of action spaces."""

    def __init__(self, children: dict[Any, Node], as_dict: bool) -> None:
        self.children = children
        self.as_dict = as_dict
        self.continuous_size = sum(child.continuous_size for child in children.values())
        self.branches = tuple(branch for child in children.values() for branch in child.branches)
        self.bounded = all(child.bounded for child in children.values())

    def batch(self, continuous: Array, discrete: Array) -> Any:
        parts, column, branch = [], 0, 0
        for child in self.children.values():
            columns = slice(column, column := column + child.continuous_size)
            branches = slice(branch, branch := branch + len(child.branches))
            parts.append(child.batch(continuous[:, columns], discrete[:, branches]))
        return dict(zip(self.children, parts, strict=True)) if self.as_dict else tuple(parts)

    def rows(self, batch: Any) -> Sequence[Any]:
        parts = batch.values() if self.as_dict else batch
        rows = zip(*(child.rows(part) for child, part in zip(self.children.values(), parts, strict=True)), strict=True)
        return [dict(zip(self.children, row, strict=True)) for row in rows] if self.as_dict else list(rows)


class ActionLayout:
    """How actions of the core become actions of the environment.

    Attributes:
        spec: What policies see of the space.
        root: The tree of the space.
    """

    def __init__(self, space: Space[Any]) -> None:
        self.root = _node(space, "the action space")
        if self.root.continuous_size == 0 and not self.root.branches:
            raise UserError(f"environment: the action space leaves nothing to choose: {space}")
        self.spec = ActionSpec(self.root.continuous_size, self.root.branches, self.root.bounded)

    def batch(self, actions: Actions) -> Any:
        """Actions of n instances as a vector environment takes them."""
        return self.root.batch(actions.continuous, actions.discrete)

    def rows(self, actions: Actions) -> Sequence[Any]:
        """One action for each of n single environments."""
        return self.root.rows(self.root.batch(actions.continuous, actions.discrete))


def _node(space: Space[Any], name: str) -> Node:
    if isinstance(space, spaces.Dict):
        return GroupNode({key: _node(child, f"{name}['{key}']") for key, child in space.spaces.items()}, as_dict=True)
    if isinstance(space, spaces.Tuple):
        return GroupNode({i: _node(child, f"{name}[{i}]") for i, child in enumerate(space.spaces)}, as_dict=False)
    if isinstance(space, spaces.Box):
        return BoxNode(space)
    if isinstance(space, spaces.Discrete):
        return _choices(space, np.asarray(space.n), np.asarray(space.start), name)
    if isinstance(space, spaces.MultiDiscrete):
        return _choices(space, space.nvec, space.start, name)
    if isinstance(space, spaces.MultiBinary):
        return _choices(space, np.full(space.shape, 2), np.zeros(space.shape), name)
    raise UserError(
        f"environment: {name} is a {type(space).__name__} space, which no policy can act in: {space}. Possible are "
        "Box, Discrete, MultiDiscrete, MultiBinary, and Dict or Tuple of these; translate it with a wrapper of yours: "
        "`wrappers: [module:Class]`"
    )


def _choices(space: Space[Any], counts: Array, start: Array, name: str) -> Node:
    if counts.size and int(counts.max()) > _MOST_CHOICES:
        raise UserError(
            f"environment: {name} has a branch of {int(counts.max())} choices: {space}; at most {_MOST_CHOICES} are "
            "possible. Split the choice into several with a wrapper of yours: `wrappers: [module:Class]`"
        )
    return ChoiceNode(space, counts, start)
