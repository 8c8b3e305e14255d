"""One observation of all records: floats or images, always to the shape that learners know, channels last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from agents_core.columns import Array
from agents_core.spec import ObservationKind, ObservationSpec

from agents_env_unity.demo.png import ImageError, choose_channels, decode_channels, image_size
from agents_env_unity.demo.stream import read_varint
from agents_env_unity.messages.records_pb2 import RawObservation

PNG = 1
GOAL = 1
CHANNELS_FIRST = (1, 2, 2)
"""Dimension properties of images since release 3 of the package: channels, height, width."""

_MAX_SIZE = 1 << 26


class RecordError(Exception):
    """A record cannot be read.

    Attributes:
        record: Which one of the block.
    """

    def __init__(self, reason: str, record: int | None = None) -> None:
        super().__init__(reason)
        self.record = record


class ObservationReader(Protocol):
    """Collects an observation of a block of records and turns it into an array."""

    spec: ObservationSpec

    def take(self, observation: RawObservation) -> None:
        """Keep one record's."""

    def flush(self) -> Array:
        """[n, *shape] of those that were kept since the last call."""


def observation_reader(first: RawObservation, index: int) -> ObservationReader:
    """A reader for observations like the first record's.

    Raises:
        RecordError: Its shape is impossible.
    """
    shape = _shape(first.shape)
    dimensions = tuple(first.dimension_properties)
    name = first.name.decode(errors="replace") or f"obs_{index}"
    if len(shape) == 3:
        if first.compression_type == PNG:
            return PngReader(first, name, shape, dimensions)
        is_first = dimensions == CHANNELS_FIRST
        seen = (*shape[1:], shape[0]) if is_first else shape
        return FloatReader(first, ObservationSpec(name, seen, "float32", "image"), shape, channels_first=is_first)
    kind: ObservationKind = "goal" if first.observation_type == GOAL else "vector"
    return FloatReader(first, ObservationSpec(name, shape, "float32", "entities" if len(shape) == 2 else kind), shape)


class FloatReader:
    """Floats as they are; whatever the compression type says, vectors are never compressed."""

    def __init__(
        self, first: RawObservation, spec: ObservationSpec, shape: tuple[int, ...], *, channels_first: bool = False
    ) -> None:
        self.spec = spec
        self._declared = first.shape
        self._shape = shape
        self._channels_first = channels_first
        self._data: list[bytes] = []

    def take(self, observation: RawObservation) -> None:
        if observation.shape != self._declared:
            raise RecordError(f"observation {self.spec.name!r} changes its shape to {list(_shape(observation.shape))}")
        self._data.append(observation.float_data.data)

    def flush(self) -> Array:
        array = floats(self._data, math.prod(self._shape), f"observation {self.spec.name!r}")
        array = array.reshape(len(self._data), *self._shape)
        self._data = []
        return np.moveaxis(array, 1, -1) if self._channels_first else array


class PngReader:
    """Images as bytes, uint8[height, width, channels]."""

    def __init__(
        self, first: RawObservation, name: str, shape: tuple[int, ...] | None, dimensions: tuple[int, ...] = ()
    ) -> None:
        self._declared = first.shape
        seen = _image_shape(first.compressed_data, shape, dimensions)
        self.spec = ObservationSpec(name, seen, "uint8", "image")
        self._data: list[tuple[bytes, Sequence[int]]] = []

    def take(self, observation: RawObservation) -> None:
        if observation.shape != self._declared:
            raise RecordError(f"observation {self.spec.name!r} changes its shape to {list(_shape(observation.shape))}")
        self._data.append((observation.compressed_data, tuple(observation.compressed_channel_mapping)))

    def flush(self) -> Array:
        images = np.empty((len(self._data), *self.spec.shape), np.uint8)
        for record, (data, mapping) in enumerate(self._data):
            try:
                if image_size(data) != self.spec.shape[:2]:
                    raise ImageError(f"an image of other size than {list(self.spec.shape)}")
                images[record] = choose_channels(decode_channels(data), self.spec.shape[2], mapping)
            except ImageError as error:
                raise RecordError(f"observation {self.spec.name!r}: {error}", record) from error
        self._data = []
        return images


def floats(data: Sequence[bytes], size: int, what: str) -> Array:
    """float32[n, size] of packed floats.

    Raises:
        RecordError: A record has another number of them, or one is not finite.
    """
    joined = b"".join(data)
    if len(joined) != 4 * size * len(data) or (data and any(len(part) != 4 * size for part in data)):
        record = next(i for i, part in enumerate(data) if len(part) != 4 * size)
        found = len(data[record]) / 4
        raise RecordError(f"{what} has {found:g} numbers instead of {size}", record)
    array = np.frombuffer(joined, "<f4").reshape(len(data), size)
    finite = np.isfinite(array)
    if not finite.all():
        raise RecordError(f"{what} is not finite", int(np.argmin(finite.all(axis=1))))
    return array


def _shape(packed: bytes) -> tuple[int, ...]:
    """A packed list of sizes.

    Raises:
        RecordError: It is none, or more than any agent sees.
    """
    sizes: list[int] = []
    at = 0
    try:
        while at < len(packed) and len(sizes) < 4:
            size, at = read_varint(packed, at)
            sizes.append(size)
    except (IndexError, ValueError):
        raise RecordError("an observation whose shape cannot be decoded") from None
    if not 1 <= len(sizes) <= 3 or math.prod(sizes) > _MAX_SIZE:
        raise RecordError(f"an observation of shape {sizes}; one to three dimensions are read")
    return tuple(sizes)


def _image_shape(data: bytes, shape: tuple[int, ...] | None, dimensions: tuple[int, ...]) -> tuple[int, int, int]:
    """Height, width and channels, from what the image says of itself and the record of the image.

    Recorders before release 3 wrote [height, width, channels]; which of the two it is, the dimension properties tell,
    and where there are none, the size of the image.
    """
    try:
        height, width = image_size(data)
        if shape is None:
            return height, width, min(3, decode_channels(data).shape[2])
    except ImageError as error:
        raise RecordError(str(error)) from error
    first, last = (*shape[1:], shape[0]), shape
    for seen in (first, last) if dimensions == CHANNELS_FIRST else (last, first):
        if (height, width) == seen[:2]:
            return seen[0], seen[1], seen[2]
    raise RecordError(f"an image of {width} x {height} pixels in an observation of shape {list(shape)}")
