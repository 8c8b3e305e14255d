"""The bytes of checkpoint files: arrays as safetensors, documents as JSON; read with every doubt, never with pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from agents_core.columns import Array
from agents_core.errors import AgentsError, UserError

if TYPE_CHECKING:
    import torch

ArrayOrTensor: TypeAlias = "Array | torch.Tensor"

MAX_DEPTH = 200
MAX_DOCUMENT_BYTES = 64 * 2**20
"""Limits of a document, checked when it is written as well, so that what was saved can be read."""

CODES = {
    "bool": "BOOL",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
}
DTYPES = {code: dtype for dtype, code in CODES.items()}


class UnsavableStateError(AgentsError):
    """A state tree holds something that cannot be saved; a mistake of whoever wrote the `state_dict`."""


class DamagedFileError(UserError):
    """A file of a checkpoint is missing, incomplete or was changed."""


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array as it stands in a safetensors file: dtype code such as `F32`, shape, and the bytes in C order."""

    code: str
    shape: tuple[int, ...]
    data: bytearray


def encode_arrays(arrays: Mapping[str, ArrayOrTensor]) -> bytes:
    """The arrays as the content of a safetensors file."""
    from safetensors.torch import save

    return save({name: _own_tensor(array) for name, array in arrays.items()})


def _own_tensor(array: ArrayOrTensor) -> torch.Tensor:
    """A contiguous copy: safetensors refuses tensors that share memory, as networks over one flat vector do."""
    import torch

    if isinstance(array, np.ndarray):
        return torch.from_numpy(array.copy(order="C"))
    return torch.empty(array.shape, dtype=array.dtype).copy_(array.detach())


def decode_arrays(data: bytes, source: Path) -> dict[str, StoredArray]:
    """Read the content of a safetensors file.

    Raises:
        DamagedFileError: It is none, is cut off, or its shapes do not fit its data.
    """
    import safetensors

    try:
        entries = safetensors.deserialize(data)  # type: ignore[no-untyped-call]
    except safetensors.SafetensorError as error:
        raise DamagedFileError(f"{source}: is damaged: {error}") from error
    return {name: StoredArray(entry["dtype"], tuple(entry["shape"]), entry["data"]) for name, entry in entries}


def dump_document(document: object) -> bytes:
    """The document as JSON text.

    Raises:
        UnsavableStateError: It is larger than what `parse_document` accepts.
    """
    text = json.dumps(document, indent=1, allow_nan=False).encode()
    if len(text) > MAX_DOCUMENT_BYTES:
        raise UnsavableStateError(
            f"state_dict: everything but arrays takes {len(text)} bytes as JSON, at most {MAX_DOCUMENT_BYTES} are "
            "allowed; keep long lists of numbers in arrays"
        )
    return text


def parse_document(data: bytes, source: Path) -> Any:
    """Read JSON text; duplicate keys, NaN literals and documents that are too large or too deep are refused.

    Raises:
        DamagedFileError: The text is no such document.
    """
    if len(data) > MAX_DOCUMENT_BYTES:
        raise DamagedFileError(f"{source}: has {len(data)} bytes, at most {MAX_DOCUMENT_BYTES} are allowed")
    try:
        document = json.loads(
            data.decode("utf-8"), object_pairs_hook=_unique_keys, parse_int=_short_int, parse_constant=_no_constant
        )
        _check_depth(document)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise DamagedFileError(f"{source}: is damaged: {reason}") from error
    return document


def _check_depth(document: object) -> None:
    level: list[Any] = [document]
    for _ in range(MAX_DEPTH):
        containers = (
            node.values() if isinstance(node, dict) else node for node in level if isinstance(node, dict | list)
        )
        level = [child for container in containers for child in container]
        if not level:
            return
    raise RecursionError


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a key occurs twice")
    return document


def _short_int(digits: str) -> int:
    if len(digits) > 20:  # Larger ones are written as `$int`; reading decimal digits takes quadratic time.
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
