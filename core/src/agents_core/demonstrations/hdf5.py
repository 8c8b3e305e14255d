"""Demonstrations in HDF5: one array a column, whole episodes one after another.

    /                        attributes `format`, `version`, `behavior`, `spec` (JSON)
    /columns/<field>         [n, ...] as in `Columns`; arrays without any number are left out
    /lengths                 int64[m], rows of each episode
    /final_observations/<i>  [m, *shape]

Every array is stored with checksums, so that damage is found instead of learned from.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from pydantic import TypeAdapter, ValidationError

from agents_core.columns import Array, Columns
from agents_core.contracts.demonstration import (
    Demonstration,
    DemonstrationError,
    DemonstrationFormat,
    DemonstrationFormatContext,
)
from agents_core.demonstrations.checks import check_demonstration, expected_columns
from agents_core.demonstrations.fitting import fitted
from agents_core.demonstrations.writing import written_aside
from agents_core.hdf5_files import DAMAGE, opened_to_write, plain_dataset, reason_of
from agents_core.options import NoOptions
from agents_core.spec import BehaviorSpec
from agents_core.trajectory import Trajectories

FORMAT = "agents demonstrations"
VERSION = "1"

_CHUNK_BYTES = 1 << 18
"""About what a chunk holds."""
_POINTER = b"version https://git-lfs"
_SPECS = TypeAdapter(BehaviorSpec)


class Hdf5Demonstrations(DemonstrationFormat):
    """Reads, writes and appends to `.h5` files."""

    def __init__(self, context: DemonstrationFormatContext[NoOptions]) -> None:
        pass

    def read(self, source: str) -> Demonstration:
        path = Path(source)
        try:
            with path.open("rb") as raw:
                if raw.read(len(_POINTER)) == _POINTER:
                    raise ValueError("it is a Git LFS pointer, not the file; fetch it with `git lfs pull`")
            with h5py.File(path, "r") as file:
                return _read(file, source)
        except DAMAGE as error:
            raise DemonstrationError(f"{path}: not a readable HDF5 demonstration: {reason_of(error)}") from error

    def write(self, target: str, demonstration: Demonstration) -> None:
        check_demonstration(demonstration, target)
        with written_aside(Path(target)) as aside, opened_to_write(aside) as file:
            _write_texts(file, demonstration)
            for name, array in _arrays(demonstration).items():
                if array.dtype.itemsize * math.prod(array.shape[1:]):
                    _create(file, name, array)

    def append(self, target: str, demonstration: Demonstration) -> None:
        there = self.read(target)
        added = fitted(demonstration, there.spec, target)
        check_demonstration(added, target)
        optional = {"action_mask", "group_id", "group_reward"}
        if optional & set(there.episodes.columns) != optional & set(added.episodes.columns):
            from agents_core.demonstrations.joining import joined

            self.write(target, joined([there, added]))
            return
        first = int(there.episodes.columns["episode_id"].max()) + 1
        with written_aside(Path(target)) as aside:
            shutil.copyfile(target, aside)
            with opened_to_write(aside, "r+") as file:
                for name, array in _arrays(added).items():
                    if name in file:
                        _extend(file[name], array + first if name == "columns/episode_id" else array)


def _arrays(demonstration: Demonstration) -> dict[str, Array]:
    """Every array by its path in the file."""
    episodes = demonstration.episodes
    names = expected_columns(demonstration)
    arrays = {f"columns/{name}": episodes.columns[name] for name in names}
    arrays["lengths"] = episodes.lengths
    arrays.update({f"final_observations/{i}": array for i, array in enumerate(episodes.final_observations)})
    return arrays


def _create(file: h5py.File, name: str, array: Array) -> None:
    """A dataset that can grow. Whole numbers, images among them, are compressed; floats seldom gain by it."""
    row = array.dtype.itemsize * math.prod(array.shape[1:])
    rows = max(1, min(_CHUNK_BYTES // row, max(len(array), 64)))
    compression: dict[str, Any] = {} if array.dtype.kind == "f" else {"compression": "gzip", "compression_opts": 1}
    file.create_dataset(
        name,
        data=array,
        chunks=(rows, *array.shape[1:]),
        maxshape=(None, *array.shape[1:]),
        fletcher32=True,
        **compression,
    )


def _extend(dataset: h5py.Dataset, array: Array) -> None:
    rows = len(dataset)
    dataset.resize(rows + len(array), axis=0)
    dataset[rows:] = array


def _read(file: h5py.File, source: str) -> Demonstration:
    if _text(file, "format") != FORMAT:
        raise ValueError("it is some other HDF5 file; `agents record` and `agents demo convert` write those of agents")
    if (version := _text(file, "version")) != VERSION:
        raise ValueError(f"its version is {version!r}, this release reads {VERSION}")
    try:
        spec = _SPECS.validate_json(_text(file, "spec"))
    except ValidationError as error:
        raise ValueError(f"its behavior spec is damaged: {error.errors()[0]['msg']}") from None
    lengths = _load(file, "lengths", ())
    rows = int(lengths.sum())
    fields: dict[str, Array] = {}
    if not spec.action.continuous_size:
        fields["action.continuous"] = np.zeros((rows, 0), np.float32)
    if not spec.action.discrete_branches:
        fields["action.discrete"] = np.zeros((rows, 0), np.int64)
    finals = []
    for i, observation in enumerate(spec.observations):
        if observation.size == 0:
            fields[f"obs.{i}"] = np.zeros((rows, *observation.shape), observation.numpy_dtype)
            finals.append(np.zeros((len(lengths), *observation.shape), observation.numpy_dtype))
        else:
            finals.append(_load(file, f"final_observations/{i}", observation.shape))
    shapes = _shapes(spec)
    for name in file["columns"]:
        fields[name] = _load(file, f"columns/{name}", shapes.get(name, ()))
    episodes = Trajectories(Columns(fields), lengths, tuple(finals))
    demonstration = Demonstration(spec, episodes, _text(file, "behavior"))
    check_demonstration(demonstration, source)
    return demonstration


def _shapes(spec: BehaviorSpec) -> Mapping[str, tuple[int, ...]]:
    shapes = {f"obs.{i}": observation.shape for i, observation in enumerate(spec.observations)}
    shapes["action.continuous"] = (spec.action.continuous_size,)
    shapes["action.discrete"] = (len(spec.action.discrete_branches),)
    shapes["action_mask"] = (spec.action.mask_size,)
    return shapes


def _load(file: h5py.File, name: str, shape: tuple[int, ...]) -> Array:
    """An array of rows of this shape; what the file claims is checked before any memory is taken."""
    dataset = plain_dataset(file, name)
    if dataset.shape[1:] != shape:
        raise ValueError(f"/{name} has rows of shape {list(dataset.shape[1:])}, the behavior spec says {list(shape)}")
    loaded: Array = dataset[:]
    return loaded


def _write_texts(file: h5py.File, demonstration: Demonstration) -> None:
    """Attributes of a fixed length: those of a variable one lie in a part of the file that has no checksum."""
    texts = {
        "format": FORMAT,
        "version": VERSION,
        "behavior": demonstration.behavior,
        "spec": _SPECS.dump_json(demonstration.spec).decode(),
    }
    for name, text in texts.items():
        file.attrs[name] = np.bytes_(text.encode() + b"\0")


def _text(file: h5py.File, name: str) -> str:
    """An attribute as `_write_texts` wrote it, else nothing: HDF5 may never return from others that are damaged."""
    if name not in file.attrs:
        return ""
    attribute = h5py.h5a.open(file.id, name.encode())
    if attribute.dtype.kind != "S" or attribute.shape != ():
        return ""
    text: str = file.attrs[name].rstrip(b"\0").decode(errors="replace")
    return text
