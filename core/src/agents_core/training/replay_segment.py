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
from agents_core.hdf5_files import DAMAGE, opened_to_write, plain_dataset, reason_of
from agents_core.spec import BehaviorSpec
from agents_core.training.durable import rename, sync_directory
from agents_core.training.saved_replay import Segment
from agents_core.training.state_files import DamagedFileError

if TYPE_CHECKING:
    import h5py

FORMAT = "agents replay 1"

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
    """Refuse a file that is not what was saved, or that nobody could have saved.

    Raises:
        DamagedFileError: It is missing or damaged, or belongs to agents that see or do something else.
    """
    import h5py

    if path.exists() and not path.is_file():  # Reading a pipe may never end.
        raise DamagedFileError(f"{path}: is no file")
    try:
        with h5py.File(path, "r", locking=False) as file:
            _check_attributes(file, segment)
            _check_arrays(file, segment)
            _check_spec(file, segment, spec)
            _check_ends(file, segment)
        found = _measure(path)
    except FileNotFoundError as error:
        raise DamagedFileError(f"{path}: is missing") from error
    except DAMAGE as error:
        raise DamagedFileError(f"{path}: {reason_of(error)}") from error
    if found != (segment.size, segment.checksum):
        raise DamagedFileError(f"{path}: is damaged: its content does not fit the checksum in the checkpoint")


def read_segment(path: Path, segment: Segment) -> Iterator[tuple[range, Mapping[str, Array]]]:
    """The pieces of a file that `check_segment` found whole."""
    import h5py

    from agents_core.replay.saved_rows import END

    with h5py.File(path, "r", locking=False) as file:
        arrays = _arrays(file, segment)
        ends = _end_numbers(file)
        for first in range(segment.first, segment.last, _PIECE):
            last = min(first + _PIECE, segment.last)
            rows = slice(first - segment.first, last - segment.first)
            end_rows = slice(*np.searchsorted(ends, (first, last)))
            piece = {name: array[end_rows if name.startswith(END) else rows] for name, array in arrays.items()}
            yield range(first, last), piece


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


def _check_attributes(file: h5py.File, segment: Segment) -> None:
    """Compare what the file says of itself with what the checkpoint says of it."""
    for name, wanted in {"format": FORMAT, "first": segment.first, "last": segment.last}.items():
        found = file.attrs.get(name, "nothing")
        if str(found) != str(wanted):
            raise ValueError(f"its attribute {name!r} is {str(found)[:100]!r}, it must be {str(wanted)!r}")


def _check_arrays(file: h5py.File, segment: Segment) -> None:
    """Refuse what is no plain array with a row for each transition, or for each end."""
    from agents_core.replay.saved_rows import END, END_NUMBER

    count = segment.last - segment.first
    end_count = plain_dataset(file, END_NUMBER).shape[0] if END_NUMBER in file else 0
    for name in file:
        rows, wanted = plain_dataset(file, name).shape[0], end_count if name.startswith(END) else count
        if rows != wanted:
            raise ValueError(f"/{name} has {rows} rows, {wanted} belong to {count} transitions with {end_count} ends")


def _check_spec(file: h5py.File, segment: Segment, spec: BehaviorSpec) -> None:
    """Compare what the file's agents saw and did with what those of the run do."""
    from agents_core.replay.layout import fields_of, usual_fields
    from agents_core.replay.saved_rows import check_fields, saved_fields

    arrays = _arrays(file, segment)
    found = fields_of(arrays, arrays)
    memory_size = math.prod(found["memory.actor"].shape) if "memory.actor" in found else 0
    wanted = saved_fields(usual_fields(spec, memory_size))
    seen_or_done = ("obs.", "action.")
    needed = [name for name, field in wanted.items() if name.startswith(seen_or_done) and field.size]
    # A buffer may have fields of its own, of which it knows itself what they must be.
    known = {name: field for name, field in found.items() if name in wanted or name.startswith(seen_or_done)}
    try:
        check_fields(known, wanted, needed)
    except ValueError as error:
        raise ValueError(f"holds transitions unlike those of this run: {error}") from None


def _check_ends(file: h5py.File, segment: Segment) -> None:
    ends = _end_numbers(file)
    if len(ends) and not (ends[0] >= segment.first and ends[-1] < segment.last and (np.diff(ends) > 0).all()):
        raise ValueError(f"its ends are not transitions {segment.first} to {segment.last - 1} in their order")


def _end_numbers(file: h5py.File) -> Array:
    """Numbers of the transitions that `end.<field>` belong to; none where a buffer has no such fields."""
    from agents_core.replay.saved_rows import END_NUMBER

    ends: Array = file[END_NUMBER][:] if END_NUMBER in file else np.empty(0, np.int64)
    return ends


def _arrays(file: h5py.File, segment: Segment) -> dict[str, Any]:
    """What the file holds, by name; fields without numbers as arrays, the others as datasets."""
    from agents_core.replay.saved_rows import END

    count, end_count = segment.last - segment.first, len(_end_numbers(file))
    arrays = {name: file[name] for name in file}
    for name, (dtype, shape) in json.loads(file.attrs["empty"]).items():
        if math.prod(shape) or np.dtype(dtype).kind not in "fiub":
            raise ValueError(f"its attribute 'empty' lists {name!r} of {dtype} {shape}, which is not without numbers")
        arrays[name] = np.empty((end_count if name.startswith(END) else count, *shape), dtype)
    return arrays


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
