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

Int64s = npt.NDArray[np.int64]
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
        return math.prod(self.shape)

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
    """Memory that a row takes at most: its fields, where its next one is, and gaps."""
    return -(-sum(field.size_bytes for field in fields) // 8) * 8 + 16


class RowStore:
    """Preallocated rows. All fields of a row that are not large lie side by side, so that one gather fetches them.

    Args:
        fields: Of a row, by name.
        rows: How many; those that are never written take no memory where the system gives it out page by page.

    Attributes:
        columns: Views by field name, [rows, *shape].
    """

    def __init__(self, fields: Mapping[str, Field], rows: int) -> None:
        self.rows = rows
        self.fields: dict[str, Field] = {}
        self.columns: dict[str, Array] = {}
        self._blocks: list[Block] = []
        self._places: dict[str, tuple[int, _Place]] = {}
        self._append({name: field for name, field in fields.items() if field.size_bytes < _LARGE})
        self.append({name: field for name, field in fields.items() if field.size_bytes >= _LARGE})

    def append(self, fields: Mapping[str, Field]) -> None:
        """Make room for more fields, each in an array of its own, so that nothing that is here is copied."""
        for name, field in fields.items():
            self._append({name: field})

    def _append(self, fields: Mapping[str, Field]) -> None:
        block = Block(fields, self.rows)
        self.fields.update(fields)
        self.columns.update(block.columns)
        self._places.update({place.name: (len(self._blocks), place) for place in block.places})
        self._blocks.append(block)

    @property
    def followed(self) -> dict[str, str]:
        """Names of the fields that a next row has as well, and what they are called there."""
        return {name: field.follower for name, field in self.fields.items() if field.follower}

    def gather(self, rows: Int64s, link: str, names: Iterable[str], device: torch.device) -> dict[str, LazyTensor]:
        """Copies of fields of rows on a device, and where a field has a follower the same of the next rows.

        Args:
            rows: Which rows.
            link: Scalar int64 field that names the next row.
            names: Which fields.
            device: Where the copies go.
        """
        here = [self._blocks[0].take_words(rows)]
        next_rows = here[0][:, self._places[link][1].start]
        after = [self._blocks[0].take_words(next_rows)]
        for block in self._blocks[1:]:
            here.append(block.take(rows))
            after.append(block.take(next_rows))
        gathered, following = ([_gathered(words, device) for words in blocks] for blocks in (here, after))
        fields: dict[str, LazyTensor] = {}
        for name in names:
            number, place = self._places[name]
            fields[name] = partial(gathered[number].cut, place)
            if place.follower:
                fields[place.follower] = partial(following[number].cut, place)
        return fields

    @property
    def side_by_side(self) -> Block:
        """The fields that lie side by side."""
        return self._blocks[0]


class Block:
    """Fields of any dtypes side by side, each aligned to its own size; a row is a number of 8-byte words.

    Attributes:
        places: Where each field lies.
        columns: Views by field name, [rows, *shape].
        row_bytes: Memory of a row.
    """

    def __init__(self, fields: Mapping[str, Field], rows: int) -> None:
        self.places: list[_Place] = []
        end = 0
        for name, field in sorted(fields.items(), key=lambda item: -item[1].dtype.itemsize):
            start = -(-end // field.dtype.itemsize)
            self.places.append(_Place(name, field, start))
            end = start * field.dtype.itemsize + field.size_bytes
        words = -(-end // 8)
        self.row_bytes = words * 8
        self._array = _zeros(rows, words)
        self._tensor = torch.from_numpy(self._array)
        self.columns = {place.name: self._column(place) for place in self.places}

    def _column(self, place: _Place) -> Array:
        field = place.field
        if field.size == 0:
            return np.zeros((len(self._array), *field.shape), field.dtype)
        numbers = self._array.view(field.dtype)[:, place.start : place.start + field.size]
        return numbers.reshape(len(numbers), *field.shape)

    def take_words(self, rows: Int64s) -> Int64s:
        """Copies of short rows, for which NumPy is faster than torch."""
        return self._array.take(rows, 0)

    def take(self, rows: Int64s) -> Int64s:
        """Copies of long rows, which torch makes in parallel."""
        return self._tensor.index_select(0, torch.from_numpy(rows)).numpy()

    def like(self, rows: int) -> Block:
        """Rows of their own, of the same fields in the same places; all 0."""
        return Block({place.name: place.field for place in self.places}, rows)

    def write(self, first: int, scratch: Block, count: int) -> None:
        """Write the first `count` rows of a block like this one to the rows from `first` on."""
        self._array[first : first + count] = scratch._array[:count]


def _zeros(rows: int, words: int) -> Int64s:
    """int64[rows, words] from the start of a cache line on, so that a row lies in as few of them as it can."""
    line = 64 // 8
    memory = np.zeros(rows * words + line, np.int64)
    start = -(memory.ctypes.data // 8) % line
    return memory[start : start + rows * words].reshape(rows, words)


def _gathered(words: Int64s, device: torch.device) -> _Gathered | _GatheredElsewhere:
    return _Gathered(words) if device.type == "cpu" else _GatheredElsewhere(torch.from_numpy(words).to(device))


class _Gathered:
    """Rows of a block in the memory of the CPU."""

    __slots__ = ("_typed", "_words")

    def __init__(self, words: Int64s) -> None:
        self._words = words
        self._typed: dict[np.dtype[Any], Array] = {}

    def cut(self, place: _Place) -> torch.Tensor:
        """One field, as a view."""
        typed = self._typed.get(place.dtype)
        if typed is None:
            typed = self._typed[place.dtype] = self._words.view(place.dtype)
        columns = typed[place.columns]
        return torch.from_numpy(columns.reshape(len(columns), *place.shape) if len(place.shape) > 1 else columns)


class _GatheredElsewhere:
    """Rows of a block in the memory of another device."""

    __slots__ = ("_words",)

    def __init__(self, words: torch.Tensor) -> None:
        self._words = words

    def cut(self, place: _Place) -> torch.Tensor:
        """One field, as a view."""
        columns = self._words.view(place.torch_dtype)[place.columns]
        return columns.reshape(len(columns), *place.shape) if len(place.shape) > 1 else columns


class _Place:
    """Where a field lies in the words of a block, in numbers of its own dtype."""

    __slots__ = ("columns", "dtype", "field", "follower", "name", "shape", "start", "torch_dtype")

    def __init__(self, name: str, field: Field, start: int) -> None:
        self.name = name
        self.field = field
        self.follower = field.follower
        self.shape = field.shape
        self.start = start
        self.columns = (slice(None), start if field.shape == () else slice(start, start + field.size))
        self.dtype = field.dtype
        self.torch_dtype = torch.from_numpy(np.empty(0, field.dtype)).dtype
