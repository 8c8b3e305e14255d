"""Where the fields of a transition lie in memory: side by side in one row, large ones in arrays of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from agents_core.columns import Array
from agents_core.spec import BehaviorSpec

LazyTensor = Callable[[], torch.Tensor]

_LARGE = 4096
"""Bytes from which on a field, such as an image, has an array of its own."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a row.

    Attributes:
        shape: Of one row.
        dtype: NumPy's.
        follower: Name of the field that holds the same of the next row, such as `next_obs.0` of `obs.0`; empty where
            there is none.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    follower: str = ""

    @property
    def size(self) -> int:
        """Numbers in one row."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def size_bytes(self) -> int:
        """Memory in one row."""
        return self.size * self.dtype.itemsize

    @property
    def absent(self) -> int:
        """What stands for a value that nobody gave: 0, and of masks True."""
        return int(self.follower == "next_action_mask")

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


def follower_of(name: str) -> str:
    """`next_obs.<i>` of `obs.<i>`, `next_action_mask` of `action_mask`; empty for other fields."""
    return f"next_{name}" if name.startswith("obs.") or name == "action_mask" else ""


def fields_of(arrays: Mapping[str, Array], names: Iterable[str]) -> dict[str, Field]:
    """The fields that these columns have."""
    return {name: Field(arrays[name].shape[1:], arrays[name].dtype, follower_of(name)) for name in names}


def usual_fields(spec: BehaviorSpec, memory_size: int) -> dict[str, Field]:
    """The fields that a behavior's transitions have as a rule; some environments add a few."""
    action = spec.action
    fields = {
        f"obs.{i}": Field(observation.shape, observation.numpy_dtype, follower_of(f"obs.{i}"))
        for i, observation in enumerate(spec.observations)
    }
    if action.mask_size:
        fields["action_mask"] = Field((action.mask_size,), np.dtype(np.bool_), "next_action_mask")
    fields["action.continuous"] = Field((action.continuous_size,), np.dtype(np.float32))
    fields["action.discrete"] = Field((len(action.discrete_branches),), np.dtype(np.int64))
    fields["reward"] = Field((), np.dtype(np.float32))
    for name in ("terminated", "truncated"):
        fields[name] = Field((), np.dtype(np.bool_))
    for name in ("agent_id", "episode_id"):
        fields[name] = Field((), np.dtype(np.int64))
    if memory_size:
        fields["memory.actor"] = Field((memory_size,), np.dtype(np.float32))
    return fields


def bytes_per_row(fields: Iterable[Field]) -> int:
    """Memory that a row takes: its fields, rounded up to whole words, and where its next one is."""
    return -(-sum(field.size_bytes for field in fields) // 8) * 8 + 8


class RowStore:
    """Preallocated rows. All fields of a row that are not large lie side by side, so that one gather fetches them.

    Args:
        fields: Of a row, by name.
        rows: How many; memory is taken as rows are first written.

    Attributes:
        columns: Views by field name, [rows, *shape].
    """

    def __init__(self, fields: Mapping[str, Field], rows: int) -> None:
        self.fields = dict(fields)
        self.rows = rows
        self.columns: dict[str, Array] = {}
        small = {name: field for name, field in fields.items() if field.size_bytes < _LARGE}
        large = [{name: field} for name, field in fields.items() if field.size_bytes >= _LARGE]
        self._blocks = [_Block(group, rows) for group in (small, *large)]
        self._places: dict[str, tuple[int, _Place]] = {}
        for number, block in enumerate(self._blocks):
            self.columns.update(block.columns)
            self._places.update({place.name: (number, place) for place in block.places})

    @property
    def followed(self) -> dict[str, str]:
        """Names of the fields that a next row has as well, and what they are called there."""
        return {name: field.follower for name, field in self.fields.items() if field.follower}

    def side_by_side(self, names: tuple[str, ...]) -> Array:
        """A view of two or more scalar fields of one dtype that were named one after another: [rows, n]."""
        return self._blocks[0].span(names)

    def gather(
        self, rows: npt.NDArray[np.int64], next_rows: npt.NDArray[np.int64], names: Iterable[str], device: torch.device
    ) -> dict[str, LazyTensor]:
        """Copies of fields of rows on a device, and where a field has a follower the same of the next rows."""
        count = len(rows)
        both = np.concatenate((rows, next_rows))
        gathered = [_Gathered(block.take(both, device), count) for block in self._blocks]
        fields: dict[str, LazyTensor] = {}
        for name in names:
            number, place = self._places[name]
            fields[name] = partial(gathered[number].cut, place, 0)
            if place.follower:
                fields[place.follower] = partial(gathered[number].cut, place, count)
        return fields

    def bytes_of(self, name: str) -> RowBytes | None:
        """How to write a field of a single row as bytes; None of a large one, where that would not be faster."""
        number, place = self._places[name]
        return self._blocks[number].bytes_of(place) if number == 0 else None

    def with_rows(self, rows: int, more: Mapping[str, Field] | None = None) -> RowStore:
        """A copy with another number of rows and perhaps more fields, which nobody has given yet."""
        store = RowStore({**self.fields, **(more or {})}, rows)
        kept = min(rows, self.rows)
        for name, column in self.columns.items():
            store.columns[name][:kept] = column[:kept]
        return store


@dataclass(frozen=True, slots=True)
class RowBytes:
    """Where the bytes of a field of a row are: from `row * stride + start` to `row * stride + stop` of `memory`.

    Writing them costs a third of what NumPy takes for a slice assignment.
    """

    dtype: np.dtype[Any]
    memory: memoryview
    stride: int
    start: int
    stop: int


class _Block:
    """Fields of any dtypes side by side, each aligned to its own size; a row is a number of 8-byte words."""

    def __init__(self, fields: Mapping[str, Field], rows: int) -> None:
        self.places: list[_Place] = []
        start = 0
        for name, field in sorted(fields.items(), key=lambda item: -item[1].dtype.itemsize):
            self.places.append(_Place(name, field, start // field.dtype.itemsize))
            start += field.size_bytes
        words = -(-start // 8)
        self._is_large = start >= _LARGE
        self._array = np.zeros((rows, words), np.int64)
        self._tensor = torch.from_numpy(self._array)
        self.columns = {place.name: self._column(place) for place in self.places}

    def _column(self, place: _Place) -> Array:
        field = place.field
        if field.size == 0:
            return np.zeros((len(self._array), *field.shape), field.dtype)
        numbers = self._array.view(field.dtype)[:, place.start : place.start + field.size]
        return numbers.reshape(len(numbers), *field.shape)

    def span(self, names: tuple[str, ...]) -> Array:
        place = next(place for place in self.places if place.name == names[0])
        return self._array.view(place.field.dtype)[:, place.start : place.start + len(names)]

    def take(self, rows: npt.NDArray[np.int64], device: torch.device) -> torch.Tensor:
        """Copies of rows: NumPy is faster with short ones, torch with long ones, which it copies in parallel."""
        if self._is_large:
            return self._tensor.index_select(0, torch.from_numpy(rows)).to(device)
        words = torch.from_numpy(self._array.take(rows, 0))
        return words if device.type == "cpu" else words.to(device)

    def bytes_of(self, place: _Place) -> RowBytes:
        memory = self._array.reshape(-1).view(np.uint8).data
        start = place.start * place.field.dtype.itemsize
        return RowBytes(place.field.dtype, memory, self._array.shape[1] * 8, start, start + place.field.size_bytes)


class _Gathered:
    """Rows of a block and, behind them, their next rows."""

    __slots__ = ("_count", "_typed", "_words")

    def __init__(self, words: torch.Tensor, count: int) -> None:
        self._words = words
        self._count = count
        self._typed: dict[torch.dtype, torch.Tensor] = {}

    def cut(self, place: _Place, first: int) -> torch.Tensor:
        """One field of the rows from `first` on, as a view."""
        typed = self._typed.get(place.dtype)
        if typed is None:
            typed = self._typed[place.dtype] = self._words.view(place.dtype)
        width = typed.shape[1]
        return typed.as_strided((self._count, *place.field.shape), (width, *place.strides), first * width + place.start)


class _Place:
    """Where a field lies in the words of a block, in numbers of its own dtype."""

    __slots__ = ("dtype", "field", "follower", "name", "start", "strides")

    def __init__(self, name: str, field: Field, start: int) -> None:
        self.name = name
        self.field = field
        self.follower = field.follower
        self.start = start
        self.dtype = torch.from_numpy(np.empty(0, field.dtype)).dtype
        self.strides = tuple(math.prod(field.shape[axis + 1 :]) for axis in range(len(field.shape)))
