"""HDF5 files on a disk that takes only so much."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from agents_core.hdf5_files import opened_to_write

resource = pytest.importorskip("resource", reason="no limits on files here")


def write(path: Path) -> None:
    with opened_to_write(path) as file:
        for part in range(4):
            file.create_dataset(f"part{part}", data=np.arange(500), chunks=(100,), maxshape=(None,))
        file.attrs["text"] = "x" * 2000


@contextmanager
def limited(size: int) -> Iterator[None]:
    """No file may become larger than that."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_wherever_the_disk_ends_the_same_error_names_the_file_and_the_cause(tmp_path: Path) -> None:
    path = tmp_path / "file.h5"
    write(path)
    for size in range(0, path.stat().st_size, 500):
        with pytest.raises(OSError, match="File too large") as raised, limited(size):
            write(path)
        assert (raised.value.errno, raised.value.filename) == (errno.EFBIG, str(path))


def test_what_else_goes_wrong_stays_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="of the writer's own"), opened_to_write(tmp_path / "file.h5"):
        raise RuntimeError("of the writer's own")
