"""Observation spaces as columns: one array for each leaf of the space, whatever the nesting.

| space | observation |
| --- | --- |
| Box | float32 vector, flattened; or an image, channels last, in its own dtype |
| Discrete, MultiDiscrete | float32 vector, one-hot |
| MultiBinary | float32 vector, flattened |
| Dict, Tuple | its leaves, named by their keys and indices: `camera`, `arm.joints`, `pair.0` |
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from agents_core.columns import Array
from agents_core.errors import EnvironmentFailedError, UserError
from agents_core.spec import ObservationSpec
from gymnasium import Space, spaces

from agents_env_gymnasium.config import ImageLayout
from agents_env_gymnasium.images import ImageEncoder, layout_of

Path = tuple[Any, ...]
"""Keys and indices that lead from an observation to one of its leaves."""
ImageLayouts = ImageLayout | Mapping[str, ImageLayout] | None

MASK_KEY = "action_mask"
ROOT_NAME = "observation"
_WIDEST_ONE_HOT = 100_000


class Encoder(Protocol):
    """Turns the values of one leaf into the array that the behavior's spec declares."""

    spec: ObservationSpec
    raw_shape: tuple[int, ...]

    def write_rows(self, values: Sequence[Any], out: Array) -> None:
        """Write the values of n environments into `out` [n, *spec.shape]."""

    def from_batch(self, values: Any) -> Array:
        """The batch [n, *raw_shape] of a vector environment as [n, *spec.shape]; shares memory where it can."""


class VectorEncoder:
    """Numbers of a Box or MultiBinary, flattened to a float32 vector."""

    def __init__(self, name: str, raw_shape: tuple[int, ...]) -> None:
        self.raw_shape = raw_shape
        self.spec = ObservationSpec(name, (int(np.prod(raw_shape, dtype=np.int64)),))

    def write_rows(self, values: Sequence[Any], out: Array) -> None:
        if not self.raw_shape:
            out[:, 0] = values
            return
        # One call for all environments; numbers of any dtype become float32 here and nowhere else.
        stacked = out.reshape(len(out) * self.raw_shape[0], *self.raw_shape[1:])
        np.concatenate(values, out=stacked, casting="unsafe")

    def from_batch(self, values: Any) -> Array:
        return np.asarray(values, np.float32).reshape(-1, self.spec.size)


class OneHotEncoder:
    """Choices of a Discrete or MultiDiscrete, each as a block of zeros with a one."""

    def __init__(self, name: str, counts: Array, start: Array) -> None:
        self.raw_shape = counts.shape
        self._counts = counts.astype(np.int64).reshape(-1)
        self._start = start.astype(np.int64).reshape(-1)
        self._offset = np.cumsum(self._counts) - self._counts
        self.spec = ObservationSpec(name, (int(self._counts.sum()),))

    def write_rows(self, values: Sequence[Any], out: Array) -> None:
        choice = np.asarray(values).reshape(len(out), -1) - self._start
        if (choice < 0).any() or (choice >= self._counts).any():
            raise EnvironmentFailedError(
                f"observation '{self.spec.name}' is outside of its space: {np.asarray(values).tolist()}"
            )
        out[...] = 0.0
        out[np.arange(len(out))[:, None], choice + self._offset] = 1.0

    def from_batch(self, values: Any) -> Array:
        out = np.empty((len(values), self.spec.size), np.float32)
        self.write_rows(values, out)
        return out


@dataclass(frozen=True, slots=True)
class _Leaf:
    path: Path
    encoder: Encoder
    pick: Callable[[Sequence[Any]], Sequence[Any]]


class ObservationLayout:
    """What the observations of a space become.

    Attributes:
        specs: One for each leaf, in the order of the space.
        has_mask: Whether the space holds the action mask, under the key `action_mask`.
    """

    def __init__(self, space: Space[Any], image_layout: ImageLayouts = None) -> None:
        self.has_mask = isinstance(space, spaces.Dict) and MASK_KEY in space.spaces
        self._leaves = [
            _Leaf(path, encoder, _picker(path)) for path, encoder in _leaves(space, (), image_layout, self.has_mask)
        ]
        self.specs = tuple(leaf.encoder.spec for leaf in self._leaves)
        _check_names(self.specs, image_layout)

    def empty(self, count: int) -> tuple[Array, ...]:
        """Arrays for the observations of `count` agents."""
        return tuple(np.zeros((count, *spec.shape), spec.numpy_dtype) for spec in self.specs)

    def write_rows(self, observations: Sequence[Any], out: tuple[Array, ...]) -> None:
        """Write the observations of n single environments into arrays of n rows."""
        for leaf, column in zip(self._leaves, out, strict=True):
            leaf.encoder.write_rows(leaf.pick(observations), column)

    def from_batch(self, observation: Any) -> tuple[Array, ...]:
        """The observation of a vector environment as arrays; they may share its memory."""
        return tuple(leaf.encoder.from_batch(_follow(observation, leaf.path)) for leaf in self._leaves)

    def check(self, observation: Any) -> None:
        """Compare an observation's structure and shapes with the space.

        Raises:
            EnvironmentFailedError: Names the part that does not fit.
        """
        for leaf in self._leaves:
            try:
                found = np.shape(_follow(observation, leaf.path))
            except (KeyError, IndexError, TypeError) as error:
                raise EnvironmentFailedError(
                    f"observation '{leaf.encoder.spec.name}' is missing ({error!r})"
                ) from error
            if found != leaf.encoder.raw_shape:
                raise EnvironmentFailedError(
                    f"observation '{leaf.encoder.spec.name}' has shape {found}, "
                    f"but the observation space says {leaf.encoder.raw_shape}"
                )


def _follow(observation: Any, path: Path) -> Any:
    return functools.reduce(getitem, path, observation)


def _picker(path: Path) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """What takes a leaf out of each of n observations."""
    if not path:
        return lambda observations: observations
    if len(path) == 1:
        key = path[0]
        return lambda observations: [observation[key] for observation in observations]
    return lambda observations: [_follow(observation, path) for observation in observations]


def _leaves(
    space: Space[Any], path: Path, image_layout: ImageLayouts, has_mask: bool = False
) -> Iterator[tuple[Path, Encoder]]:
    """(path, encoder) of each leaf below `space`."""
    if isinstance(space, spaces.Dict):
        for key, child in space.spaces.items():
            if not (has_mask and key == MASK_KEY):
                yield from _leaves(child, (*path, key), image_layout)
    elif isinstance(space, spaces.Tuple):
        for index, child in enumerate(space.spaces):
            yield from _leaves(child, (*path, index), image_layout)
    else:
        yield path, _encoder(space, ".".join(map(str, path)) or ROOT_NAME, image_layout)


def _encoder(space: Space[Any], name: str, image_layout: ImageLayouts) -> Encoder:
    """The encoder of a leaf; its name decides nothing but messages and declared layouts."""
    if isinstance(space, spaces.Box):
        if space.low.size == 0:
            raise UserError(f"environment: observation '{name}' is empty: {space}; remove it with a wrapper")
        layout = layout_of(space, name, image_layout)
        return VectorEncoder(name, space.shape) if layout == "vector" else ImageEncoder(name, space, layout)
    if isinstance(space, spaces.MultiBinary):
        return VectorEncoder(name, space.shape)
    if isinstance(space, spaces.Discrete):
        return _one_hot(space, name, np.asarray(space.n), np.asarray(space.start))
    if isinstance(space, spaces.MultiDiscrete):
        return _one_hot(space, name, space.nvec, space.start)
    raise UserError(
        f"environment: observation '{name}' is a {type(space).__name__} space, which has no fixed number of numbers: "
        f"{space}. Turn it into Box, Discrete, MultiDiscrete, MultiBinary, Dict or Tuple with a wrapper of yours: "
        "`wrappers: [module:Class]`"
    )


def _one_hot(space: Space[Any], name: str, counts: npt.NDArray[Any], start: npt.NDArray[Any]) -> Encoder:
    width = int(counts.astype(np.int64).sum())
    if not 0 < width <= _WIDEST_ONE_HOT:
        raise UserError(
            f"environment: observation '{name}' would be a one-hot vector of {width} numbers: {space}; "
            f"1 to {_WIDEST_ONE_HOT} are possible. Describe it by fewer numbers with a wrapper of yours: "
            "`wrappers: [module:Class]`"
        )
    return OneHotEncoder(name, counts, start)


def _check_names(specs: Sequence[ObservationSpec], image_layout: ImageLayouts) -> None:
    """Refuse names that stand twice, layouts for observations that are not there, and having nothing to see."""
    names = [spec.name for spec in specs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not names:
        raise UserError("environment: the observation space holds no observation; add one with a wrapper of yours")
    if twice:
        raise UserError(
            f"environment: several observations would be called {', '.join(twice)}; rename keys with a wrapper of yours"
        )
    if isinstance(image_layout, Mapping) and (unknown := sorted(set(image_layout) - set(names))):
        raise UserError(
            f"environment.image_layout: there is no observation {', '.join(unknown)}; there are {', '.join(names)}"
        )
