"""The datasets of a replay buffer that ML-Agents saved: HDF5, one array of floats a field, a row for each of its steps.

They are read chunk by chunk, so that each is unpacked once, and what is made of them may be smaller than they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import numpy.typing as npt
from agents_core.columns import Array
from agents_core.demonstrations import DemonstrationError
from agents_core.hdf5_files import DAMAGE, plain_dataset, reason_of

Bools = npt.NDArray[np.bool_]
Place = tuple[slice, ...]

REWARD = "environment_rewards"


class Datasets:
    """Checked access to the datasets of an open file.

    Args:
        file: Opened for reading.
        path: Its name, for messages.

    Attributes:
        rows: Of each dataset that is read, padding included.
        kept: bool[rows], those that are no padding; all of them until somebody finds out.
        warnings: What the user should know of the file.

    Raises:
        DemonstrationError: A dataset that every buffer has is missing, or they differ in length.
    """

    def __init__(self, file: h5py.File, path: Path) -> None:
        self._file = file
        self._path = path
        self.rows = len(self._find("done", ()))
        self._find(REWARD, ())
        self.kept: Bools = np.ones(self.rows, np.bool_)
        self.warnings: list[str] = []

    @property
    def count(self) -> int:
        """Rows that are no padding."""
        return int(self.kept.sum())

    def __contains__(self, name: str) -> bool:
        return name in self._file

    def __iter__(self) -> Iterator[str]:
        return iter(self._file)

    def error(self, reason: str) -> DemonstrationError:
        """A complaint that names the file."""
        return DemonstrationError(f"{self._path}: {reason}")

    def warn(self, reason: str) -> None:
        """A warning that names the file."""
        self.warnings.append(f"{self._path}: {reason}")

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a row."""
        shape: tuple[int, ...] = self._find(name).shape[1:]
        return shape

    def read(self, name: str, shape: tuple[int, ...] | None = None) -> Array:
        """float32[kept rows, ...], every row that is no padding.

        Args:
            name: Of the dataset.
            shape: What a row must look like; None = anything.

        Raises:
            DemonstrationError: It is missing or damaged, has other rows or holds what is not finite.
        """
        dataset = self._find(name, shape)
        values = np.empty((self.count, *dataset.shape[1:]), np.float32)
        for place, block in self.blocks(name):
            values[place] = block
        return values

    def blocks(self, name: str) -> Iterator[tuple[Place, Array]]:
        """The rows of a dataset that are no padding, some at a time, and where among all of these rows they belong.

        Raises:
            DemonstrationError: It is damaged or holds what is not finite; the message names the row.
        """
        kept_before = np.concatenate([[0], np.cumsum(self.kept)])
        for (rows, *rest), block in self.all_blocks(name):
            kept = self.kept[rows]
            finite = np.isfinite(block.reshape(len(block), -1)).all(axis=1) | ~kept
            if not finite.all():
                raise self.error(f"{name} is not finite at row {rows.start + int(np.argmin(finite))}")
            place = (slice(kept_before[rows.start], kept_before[rows.stop]), *rest)
            yield place, block if kept.all() else block[kept]

    def all_blocks(self, name: str) -> Iterator[tuple[Place, Array]]:
        """A dataset in float32, chunk by chunk, and where in it each block belongs; padding included."""
        dataset = self._find(name)
        if not dataset.size:
            return
        whole = tuple(slice(0, size) for size in dataset.shape)
        for place in [whole] if dataset.chunks is None else dataset.iter_chunks():
            try:
                with np.errstate(over="ignore"):  # What is too large for float32 is not finite.
                    block = dataset[place].astype(np.float32, copy=False)
            except DAMAGE as error:
                raise self.error(f"{name} is damaged: {reason_of(error)}") from error
            yield place, block

    def _find(self, name: str, shape: tuple[int, ...] | None = None) -> h5py.Dataset:
        """A dataset; what it claims is checked before any memory is taken."""
        if name not in self._file:
            raise self.error(f"a replay buffer of ML-Agents without {name!r}; there are {', '.join(self._file)}")
        try:
            dataset = plain_dataset(self._file, name)
        except ValueError as error:
            raise self.error(str(error)) from error
        if shape is not None and dataset.shape[1:] != shape:
            raise self.error(f"{name} has rows of shape {list(dataset.shape[1:])}, expected {list(shape)}")
        if name != "done" and len(dataset) != self.rows:
            raise self.error(f"{name} has {len(dataset)} rows, done has {self.rows}")
        return dataset
