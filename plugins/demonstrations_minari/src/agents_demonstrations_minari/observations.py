"""Observation spaces as columns: one array for each leaf, as Gymnasium environments give them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from operator import getitem
from typing import Any

import numpy as np
from agents_core.columns import Array
from agents_core.demonstrations import DemonstrationError
from agents_core.spec import ObservationSpec
from gymnasium import Space, spaces

MASK_KEY = "action_mask"
ROOT_NAME = "observation"
_MOST_CHANNELS = 4


@dataclass(frozen=True, slots=True)
class Leaf:
    """One observation of a space.

    Attributes:
        path: Keys and indices that lead to it.
        space: Its own.
        spec: What it becomes.
        channels_first: Whether it is an image whose channels stand first.
    """

    path: tuple[Any, ...]
    space: Space[Any]
    spec: ObservationSpec
    channels_first: bool = False

    def read(self, observations: Any) -> Array:
        """[n, *shape] of the observations of an episode."""
        values = np.asarray(functools.reduce(getitem, self.path, observations))
        if isinstance(self.space, spaces.Discrete):
            return _one_hot(values, np.array([self.space.n]), np.array([self.space.start]))
        if isinstance(self.space, spaces.MultiDiscrete):
            return _one_hot(values, self.space.nvec.reshape(-1), self.space.start.reshape(-1))
        if self.channels_first:
            values = np.moveaxis(values, 1, -1)
        return values.astype(self.spec.numpy_dtype).reshape(len(values), *self.spec.shape)


def leaves(space: Space[Any], path: tuple[Any, ...] = ()) -> Iterator[Leaf]:
    """The leaves of a space in its order, without an action mask.

    Raises:
        DemonstrationError: One has no fixed number of numbers.
    """
    if isinstance(space, spaces.Dict):
        for key, child in space.spaces.items():
            if path or key != MASK_KEY:
                yield from leaves(child, (*path, key))
    elif isinstance(space, spaces.Tuple):
        for index, child in enumerate(space.spaces):
            yield from leaves(child, (*path, index))
    else:
        yield _leaf(space, path)


def space_of(specs: tuple[ObservationSpec, ...]) -> Space[Any]:
    """A space that holds the observations: a Box, or a Dict of them."""
    boxes: dict[str, Space[Any]] = {spec.name: _box(spec) for spec in specs}
    return next(iter(boxes.values())) if len(boxes) == 1 else spaces.Dict(boxes)


def _leaf(space: Space[Any], path: tuple[Any, ...]) -> Leaf:
    name = ".".join(map(str, path)) or ROOT_NAME
    if isinstance(space, spaces.Box):
        shape = space.shape
        if space.dtype == np.uint8 and len(shape) == 3:
            first = shape[2] > _MOST_CHANNELS >= shape[0]
            seen = (*shape[1:], shape[0]) if first else shape
            return Leaf(path, space, ObservationSpec(name, seen, "uint8", "image"), first)
        if space.dtype == np.uint8 and len(shape) == 2 and space.low.max() == 0 and space.high.min() == 255:
            return Leaf(path, space, ObservationSpec(name, (*shape, 1), "uint8", "image"))
        return Leaf(path, space, ObservationSpec(name, (int(np.prod(shape, dtype=np.int64)),)))
    if isinstance(space, spaces.MultiBinary):
        return Leaf(path, space, ObservationSpec(name, (int(np.prod(space.shape, dtype=np.int64)),)))
    if isinstance(space, spaces.Discrete):
        return Leaf(path, space, ObservationSpec(name, (int(space.n),)))
    if isinstance(space, spaces.MultiDiscrete):
        return Leaf(path, space, ObservationSpec(name, (int(space.nvec.sum()),)))
    raise DemonstrationError(
        f"observation {name!r} is a {type(space).__name__} space, which has no fixed number of numbers"
    )


def _one_hot(values: Array, counts: Array, start: Array) -> Array:
    """float32[n, sum of counts]: a block of zeros with a one for each number."""
    choice = values.reshape(len(values), len(counts)).astype(np.int64) - start
    if (choice < 0).any() or (choice >= counts).any():
        raise DemonstrationError("an observation is outside of its space")
    out = np.zeros((len(values), int(counts.sum())), np.float32)
    np.put_along_axis(out, choice + np.cumsum(counts) - counts, 1.0, axis=1)
    return out


def _box(spec: ObservationSpec) -> spaces.Box:
    if spec.dtype == "uint8":
        return spaces.Box(0, 255, spec.shape, np.uint8)
    return spaces.Box(-np.inf, np.inf, spec.shape, np.float32)
