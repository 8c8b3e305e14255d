"""HDF5 files: in which layout they are written, what a disk that refuses raises, and what of a file is believed."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import h5py

_LAYOUT = ("v110", "v110")
"""The oldest layout of HDF5 that has checksums over its own structures too."""

DAMAGE = (OSError, RuntimeError, LookupError, ValueError, TypeError, OverflowError, MemoryError, AttributeError)
"""What a damaged file lets h5py raise, and whoever uses what was read from it."""

_MAX_RATIO = 1100
"""Deflate packs no array into less than a 1032nd of its size; a file that claims more is damaged."""

_SMALL_BYTES = 1 << 24
"""A chunk may be larger than its array up to here."""


class _Disk(io.FileIO):
    """Keeps the disk's first refusal from HDF5, which would raise it again and again, even while it tidies up."""

    refusal: OSError | None = None

    def write(self, data: Any) -> int:
        rest = memoryview(data)
        while rest and self.refusal is None:
            try:
                rest = rest[super().write(rest) :]
            except OSError as error:
                self.refusal = error
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        try:
            return super().truncate(size)
        except OSError as error:
            self.refusal = self.refusal or error
            return 0


@contextmanager
def opened_to_write(path: Path, mode: Literal["w", "r+"] = "w") -> Iterator[h5py.File]:
    """An HDF5 file to write to, closed at the end.

    Raises:
        OSError: The disk is full or refuses; with `errno` and the file's name.
    """
    import h5py

    with _Disk(path, "w+" if mode == "w" else mode) as disk:
        try:
            with h5py.File(disk, mode, libver=_LAYOUT, track_order=True) as file:
                yield file
        except Exception:
            if disk.refusal is None:  # Else it follows from that.
                raise
        if disk.refusal is not None:
            number = disk.refusal.errno or 0
            raise OSError(number, os.strerror(number), str(path)) from disk.refusal


def plain_dataset(file: h5py.File, name: str) -> h5py.Dataset:
    """An array of numbers that lie in the file itself; what it claims is checked before any memory is taken.

    Raises:
        ValueError: It is missing, no such array, or larger than what is stored can be.
    """
    import h5py

    steps = name.split("/")
    for count in range(1, len(steps) + 1):
        if not isinstance(file.get("/".join(steps[:count]), getlink=True), h5py.HardLink):
            raise ValueError(f"/{name} is missing, or a link to elsewhere")
    dataset = file[name]
    if not isinstance(dataset, h5py.Dataset) or dataset.ndim < 1 or dataset.dtype.kind not in "fiub":
        raise ValueError(f"/{name} is no array of numbers")
    if dataset.external or dataset.is_virtual:
        raise ValueError(f"/{name} has its numbers elsewhere; they must lie in the file itself")
    stored = min(dataset.id.get_storage_size(), file.id.get_filesize())
    chunk_bytes = dataset.dtype.itemsize * math.prod(dataset.chunks or (0,))  # It is unpacked as a whole.
    is_huge = chunk_bytes > max(_SMALL_BYTES, dataset.nbytes)
    if is_huge or (dataset.nbytes and max(dataset.nbytes, chunk_bytes) > stored * _MAX_RATIO):
        raise ValueError(f"/{name} is cut: {stored} bytes for an array of {max(dataset.nbytes, chunk_bytes)}")
    return dataset


def reason_of(error: BaseException) -> str:
    """What an exception of `DAMAGE` says, on one line."""
    said = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
    return " ".join(said.split()) or type(error).__name__
