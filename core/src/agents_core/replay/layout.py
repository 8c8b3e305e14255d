"""Where the fields of a transition lie in memory: columns of one dtype side by side in one array."""

from __future__ import annotations

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
    """Memory that a row takes."""
    return sum(field.size * field.dtype.itemsize for field in fields)


class RowStore:
    """Preallocated rows. The columns of one dtype lie side by side, so that one gather fetches them all.

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
        self._blocks = [
            _Block({name: field for name, field in fields.items() if field.dtype == dtype}, rows)
            for dtype in dict.fromkeys(field.dtype for field in fields.values())
        ]
        for block in self._blocks:
            self.columns.update(block.columns)

    def side_by_side(self, names: tuple[str, ...]) -> Array:
        """A view of scalar fields that were named one after another, of one dtype and without follower: [rows, n]."""
        return next(block.span(names) for block in self._blocks if names[0] in block.columns)

    @property
    def followed(self) -> dict[str, str]:
        """Names of the fields that a next row has as well, and what they are called there."""
        return {name: field.follower for name, field in self.fields.items() if field.follower}

    def gather(
        self, rows: npt.NDArray[np.int64], next_rows: npt.NDArray[np.int64], device: torch.device
    ) -> dict[str, torch.Tensor | LazyTensor]:
        """Copies of rows on a device, and of the fields that have a follower those of the next rows."""
        count = len(rows)
        both = torch.from_numpy(np.concatenate((rows, next_rows)))
        fields: dict[str, torch.Tensor | LazyTensor] = {}
        for block in self._blocks:
            block.gather(both, count, device, fields)
        return fields

    def with_rows(self, rows: int, more: Mapping[str, Field] | None = None) -> RowStore:
        """A copy with another number of rows and perhaps more fields, which nobody has given yet."""
        store = RowStore({**self.fields, **(more or {})}, rows)
        kept = min(rows, self.rows)
        for name, column in self.columns.items():
            store.columns[name][:kept] = column[:kept]
        return store


class _Block:
    """The columns of one dtype; those with a follower first."""

    def __init__(self, fields: Mapping[str, Field], rows: int) -> None:
        ordered = sorted(fields.items(), key=lambda item: not item[1].follower)
        dtype = ordered[0][1].dtype
        self._array = np.zeros((rows, sum(field.size for _, field in ordered)), dtype)
        self._tensor = torch.from_numpy(self._array)
        self._places: list[tuple[str, int, Field]] = []
        self.columns: dict[str, Array] = {}
        self._has_followers = bool(ordered[0][1].follower)
        start = 0
        for name, field in ordered:
            self._places.append((name, start, field))
            self.columns[name] = self._array[:, start : start + field.size].reshape(rows, *field.shape)
            start += field.size

    def span(self, names: tuple[str, ...]) -> Array:
        start = next(start for name, start, _ in self._places if name == names[0])
        return self._array[:, start : start + len(names)]

    def gather(
        self, both: torch.Tensor, count: int, device: torch.device, fields: dict[str, torch.Tensor | LazyTensor]
    ) -> None:
        gathered = self._tensor.index_select(0, both if self._has_followers else both[:count]).to(device)
        for name, start, field in self._places:
            fields[name] = partial(_cut, gathered, 0, count, start, field)
            if field.follower:
                fields[field.follower] = partial(_cut, gathered, count, count, start, field)


def _cut(gathered: torch.Tensor, first: int, count: int, start: int, field: Field) -> torch.Tensor:
    rows = gathered[first : first + count]
    if field.shape == ():
        return rows[:, start]
    columns = rows[:, start : start + field.size]
    return columns if len(field.shape) == 1 else columns.reshape(count, *field.shape)
