"""HDF5 files that are written: in which layout, and what a disk that refuses raises."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import h5py

_LAYOUT = ("v110", "v110")
"""The oldest layout of HDF5 that has checksums over its own structures too."""


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
