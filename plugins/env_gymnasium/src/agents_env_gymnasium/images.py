"""Image observations: where the channels are, and how they come to stand last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from agents_core.columns import Array
from agents_core.errors import UserError
from agents_core.spec import ObservationSpec
from gymnasium import spaces

from agents_env_gymnasium.config import ImageLayout

_MOST_CHANNELS = 4
"""A larger axis is never taken for the channels without being told."""


class ImageEncoder:
    """A Box of [height, width], [height, width, channels] or [channels, height, width] as an image, channels last.

    Bytes stay bytes and booleans stay booleans; every other dtype becomes float32.
    """

    def __init__(self, name: str, space: spaces.Box, layout: Literal["channels_last", "channels_first"]) -> None:
        self.raw_shape = space.shape
        self._channels_first = layout == "channels_first" and len(space.shape) == 3
        shape = space.shape if len(space.shape) == 3 else (*space.shape, 1)
        if self._channels_first:
            shape = (*shape[1:], shape[0])
        dtype = space.dtype.name if space.dtype in (np.uint8, np.bool_) else "float32"
        self.spec = ObservationSpec(name, shape, dtype, "image")

    def write_rows(self, values: Sequence[Any], out: Array) -> None:
        raw = np.moveaxis(out, -1, 1) if self._channels_first else out.reshape(len(out), *self.raw_shape)
        np.stack(values, out=raw, casting="unsafe")

    def from_batch(self, values: Any) -> Array:
        images = np.asarray(values, self.spec.numpy_dtype)
        if self._channels_first:
            return np.moveaxis(images, 1, -1)
        return images.reshape(-1, *self.spec.shape)


def layout_of(space: spaces.Box, name: str, declared: ImageLayout | Mapping[str, ImageLayout] | None) -> ImageLayout:
    """Whether a Box is an image, and where its channels are.

    Args:
        space: The space of the observation.
        name: Its name, for messages and declarations.
        declared: The config's `image_layout`. One layout for all applies to uint8 and three-dimensional Boxes.

    Raises:
        UserError: The channels could be first or last and nobody said which; or the shape cannot be an image.
    """
    axes = len(space.shape)
    if isinstance(declared, Mapping):
        layout = declared.get(name)
        if layout not in (None, "vector") and axes not in (2, 3):
            raise UserError(
                f"environment.image_layout.{name}: an image has two or three axes, but its shape is {space.shape}"
            )
        if layout is not None:
            return layout
    elif declared is not None and axes == 3:
        return declared
    if space.dtype != np.uint8:
        return "vector"
    if axes == 2 and np.all(space.low == 0) and np.all(space.high == 255):
        return "vector" if declared == "vector" else "channels_last"
    return _detect(space.shape, name) if axes == 3 else "vector"


def _detect(shape: tuple[int, ...], name: str) -> ImageLayout:
    first, last = shape[0] <= _MOST_CHANNELS, shape[2] <= _MOST_CHANNELS
    if first == last:
        raise UserError(
            f"environment: observation '{name}' of shape {shape} could be an image with its channels first or last. "
            f"Say which: `environment: {{image_layout: {{{name}: channels_last}}}}` or `channels_first`; "
            "`vector` if it is no image"
        )
    return "channels_first" if first else "channels_last"
