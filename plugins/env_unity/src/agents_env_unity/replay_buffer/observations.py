"""What agents saw and saw next, from a replay buffer of ML-Agents to the shape that learners know, channels last."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from agents_core.columns import Array
from agents_core.spec import ObservationKind, ObservationSpec

from agents_env_unity.replay_buffer.datasets import Datasets

Images = Literal["auto", "float32"]

_MOST_CHANNELS = 4
"""Of an image whose channels are taken to come last."""
_SHADE_TOLERANCE = 1e-3
"""How far a number times 255 may be from a whole one, and be a shade all the same."""
_KINDS: tuple[ObservationKind, ...] = ("vector", "entities", "image")
"""By the number of dimensions. A goal looks like any other vector here."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """One observation of all steps.

    Attributes:
        spec: What it is.
        now: [n, *shape], what agents acted on.
        after: [n, *shape], what they saw next; None where the file does not hold it.
    """

    spec: ObservationSpec
    now: Array
    after: Array | None = None


def read_observations(data: Datasets, images: Images) -> list[Seen]:
    """All of them, in their order.

    Raises:
        DemonstrationError: One is missing, damaged or of an impossible shape, or only some say what came next.
    """
    count = max(1, sum(name.startswith("obs:") for name in data))
    has_next = any(name.startswith("next_obs:") for name in data)
    return [_read_one(data, i, images, has_next=has_next) for i in range(count)]


def _read_one(data: Datasets, index: int, images: Images, *, has_next: bool) -> Seen:
    name = f"obs:{index}"
    stored = data.shape(name)
    if not 1 <= len(stored) <= 3:
        raise data.error(f"{name} has rows of shape {list(stored)}; one to three dimensions are read")
    names = (name, f"next_{name}") if has_next else (name,)
    for other in names[1:]:
        if data.shape(other) != stored:
            raise data.error(f"{other} has rows of shape {list(data.shape(other))}, {name} of {list(stored)}")
    kind = _KINDS[len(stored) - 1]
    channels_first = kind == "image" and not stored[2] <= _MOST_CHANNELS < stored[0]
    if kind == "image" and not channels_first:
        data.warn(f"{name} has rows of shape {list(stored)}, which is taken for height, width and channels")
    shape = (*stored[1:], stored[0]) if channels_first else stored
    spec = ObservationSpec(f"obs_{index}", shape, "float32", kind)
    if kind == "image" and images == "auto":
        try:
            return _seen(data, names, replace(spec, dtype="uint8"), channels_first)
        except _NoShadeError:
            pass
    return _seen(data, names, spec, channels_first)


class _NoShadeError(Exception):
    """A number is none of the 256 that a byte divided by 255 may be, as ML-Agents makes them of a PNG."""


def _seen(data: Datasets, names: tuple[str, ...], spec: ObservationSpec, channels_first: bool) -> Seen:
    """What the datasets hold, in the type of the spec.

    Raises:
        _NoShadeError: That is bytes, and they hold something else.
    """
    arrays = []
    for name in names:
        array = np.empty((data.count, *spec.shape), spec.numpy_dtype)
        stored = np.moveaxis(array, -1, 1) if channels_first else array
        for place, block in data.blocks(name):
            stored[place] = _shades(block) if spec.dtype == "uint8" else block
        arrays.append(array)
    return Seen(spec, *arrays)


def _shades(images: Array) -> Array:
    """Fractions of 1 as whole numbers."""
    fractions = images * 255
    whole: Array = np.rint(fractions)
    if (np.abs(fractions - whole) > _SHADE_TOLERANCE).any() or whole.min(initial=0) < 0 or whole.max(initial=0) > 255:
        raise _NoShadeError
    return whole
