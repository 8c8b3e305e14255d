"""One file of saved transitions: HDF5, a growing array for each field, in the field's own dtype.

/<field>            [n, ...] as `Buffer.export` gives them, such as `obs.0`, `reward`, `predecessor`
/end.number         int64[m], numbers of the transitions that `end.<field>` [m, ...] belong to
attributes          `format`, `first` and `last` (exclusive) number, `empty`: dtype and shape of fields without numbers
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from agents_core.columns import Array
from agents_core.contracts.buffer import Buffer
from agents_core.hdf5_files import opened_to_write
from agents_core.spec import BehaviorSpec
from agents_core.training.durable import rename, sync_directory
from agents_core.training.saved_replay import Segment
from agents_core.training.state_files import DamagedFileError

if TYPE_CHECKING:
    import h5py

FORMAT = "agents replay 1"
END = "end."
END_NUMBER = "end.number"
"""Arrays whose name starts with `END` have a row only for the numbers that `END_NUMBER` lists."""

DAMAGE = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, AttributeError)
"""What h5py raises where a file is damaged."""

_PIECE = 4096
"""Transitions that are written and read at once."""
_CHUNK_BYTES = 1 << 18


def write_segment(path: Path, buffer: Buffer, numbers: range, compression: str) -> Segment:
    """Write transitions to a file: aside, flushed, renamed."""
    aside = path.with_name(f".{path.name}.new")
    try:
        with opened_to_write(aside) as file:
            empty: dict[str, Any] = {}
            for start in range(numbers.start, numbers.stop, _PIECE):
                for name, array in buffer.export(range(start, min(start + _PIECE, numbers.stop))).items():
                    if math.prod(array.shape[1:]):
                        _append(file, name, array, compression)
                    else:
                        empty[name] = [array.dtype.str, list(array.shape[1:])]
            file.attrs.update({"format": FORMAT, "first": numbers.start, "last": numbers.stop})
            file.attrs["empty"] = json.dumps(empty)
        size, checksum = _measure(aside, flush=True)
        rename(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)
    return Segment(path.name, numbers.start, numbers.stop, size, checksum)


def check_segment(path: Path, segment: Segment, spec: BehaviorSpec) -> None:
    """Refuse a file that is not what was saved.

    Raises:
        DamagedFileError: It is missing or damaged, or belongs to agents that see or do something else.
    """
    import h5py

    try:
        with h5py.File(path, "r", locking=False) as file:
            _check_spec(file, spec)
        found = _measure(path)
    except FileNotFoundError as error:
        raise DamagedFileError(f"{path}: is missing") from error
    except DAMAGE as error:
        raise DamagedFileError(f"{path}: {error}") from error
    if found != (segment.size, segment.checksum):
        raise DamagedFileError(f"{path}: is damaged: its content does not fit the checksum in the checkpoint")


def read_segment(path: Path, segment: Segment) -> Iterator[tuple[range, Mapping[str, Array]]]:
    """The pieces of a file that was found whole."""
    import h5py

    with h5py.File(path, "r", locking=False) as file:
        empty = {
            name: np.empty((segment.last - segment.first, *shape), dtype)
            for name, (dtype, shape) in json.loads(file.attrs["empty"]).items()
        }
        ends = file[END_NUMBER][:] if END_NUMBER in file else np.empty(0, np.int64)
        for first in range(segment.first, segment.last, _PIECE):
            last = min(first + _PIECE, segment.last)
            rows = slice(first - segment.first, last - segment.first)
            end_rows = slice(*np.searchsorted(ends, (first, last)))
            piece = {name: file[name][end_rows if name.startswith(END) else rows] for name in file}
            yield range(first, last), {**piece, **{name: array[rows] for name, array in empty.items()}}


def _append(file: h5py.File, name: str, array: Array, compression: str) -> None:
    if name not in file:
        row_bytes = array.dtype.itemsize * math.prod(array.shape[1:])
        rows = 2 ** max(0, min(_CHUNK_BYTES // row_bytes, _PIECE).bit_length() - 1)  # It divides a piece.
        file.create_dataset(
            name,
            (0, *array.shape[1:]),
            array.dtype,
            chunks=(rows, *array.shape[1:]),
            maxshape=(None, *array.shape[1:]),
            compression=None if compression == "none" else compression,
            shuffle=compression != "none" and array.dtype.itemsize > 1,
        )
    dataset = file[name]
    rows = len(dataset)
    dataset.resize(rows + len(array), axis=0)
    dataset[rows:] = array


def _check_spec(file: h5py.File, spec: BehaviorSpec) -> None:
    """Compare what the file's agents saw and did with what those of the run do."""
    wanted = {
        f"obs.{i}": f"{observation.numpy_dtype}{list(observation.shape)}"
        for i, observation in enumerate(spec.observations)
        if observation.size
    }
    if spec.action.continuous_size:
        wanted["action.continuous"] = f"float32[{spec.action.continuous_size}]"
    if spec.action.discrete_branches:
        wanted["action.discrete"] = f"int64[{len(spec.action.discrete_branches)}]"
    found = {
        name: f"{file[name].dtype}{list(file[name].shape[1:])}" for name in file if name.startswith(("obs.", "action."))
    }
    differences = [
        f"{name}: saved {found.get(name, 'nothing')}, here {wanted.get(name, 'nothing')}"
        for name in sorted(found.keys() | wanted.keys())
        if found.get(name) != wanted.get(name)
    ]
    if differences:
        raise ValueError(f"holds transitions of agents that see or do something else: {'; '.join(differences)}")


def _measure(path: Path, *, flush: bool = False) -> tuple[int, int]:
    """Size and CRC-32 of a file, perhaps after it is on disk."""
    checksum = size = 0
    with path.open("r+b" if flush else "rb") as file:
        while block := file.read(1 << 20):
            checksum = crc32(block, checksum)
            size += len(block)
        if flush:
            os.fsync(file.fileno())
    return size, checksum
