"""`state_dict` trees on disk: arrays become a safetensors file, everything else a JSON document.

A tree is made of dict with text keys, list, str, int, float, bool, None, NumPy arrays and torch tensors. What is read
back equals what was written bit for bit: NaNs keep their bits, integers any size, dicts their order. Tensors come back
on the CPU and without gradient. Anything else, tuples and NumPy scalars included, is refused with its path. Nothing
here uses pickle, so that no file can execute code.

In the JSON document a dict with one key that starts with a single `$` stands for what JSON cannot say:
`{"$array": NAME}`, `{"$tensor": NAME}`, `{"$int": HEX}`, `{"$float": BITS}`. Keys that start with `$` get a second one.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agents_core.columns import Array
from agents_core.errors import UserError
from agents_core.training.state_files import (
    CODES,
    DTYPES,
    ArrayOrTensor,
    DamagedFileError,
    StoredArray,
    UnsavableStateError,
)

if TYPE_CHECKING:
    import torch

MAX_DEPTH = 100
"""Levels of a tree; its document may have some more around it."""


class StateMismatchError(UserError):
    """A saved state belongs to something else than what is to take it over."""


def split_tree(tree: object) -> tuple[Any, dict[str, ArrayOrTensor]]:
    """Part a tree into a JSON document and its arrays, which are named by their path, such as `critic/body.0.weight`.

    Raises:
        UnsavableStateError: Something in the tree cannot be saved; the message names its path.
    """
    arrays: dict[str, ArrayOrTensor] = {}
    return _split(tree, (), arrays), arrays


def _split(value: Any, path: tuple[str, ...], arrays: dict[str, ArrayOrTensor]) -> Any:
    if len(path) > MAX_DEPTH:
        raise _refusal(path[:5], f"is nested deeper than {MAX_DEPTH} levels")
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if abs(value) < 2**63 else {"$int": hex(value)}
    if kind is float:
        # Not NaN and not infinite: these two JSON cannot write, and NaNs differ in their bits.
        return value if abs(value) < float("inf") else {"$float": struct.pack(">d", value).hex()}
    if kind is str:
        return _checked_text(value, path)
    if kind is list:
        return [_split(child, (*path, str(index)), arrays) for index, child in enumerate(value)]
    if isinstance(value, dict):
        return {_written_key(key, path): _split(child, (*path, key), arrays) for key, child in value.items()}
    return _split_array(value, path, arrays)


def _split_array(value: Any, path: tuple[str, ...], arrays: dict[str, ArrayOrTensor]) -> dict[str, str]:
    name = _array_name(path)
    torch = sys.modules.get("torch")  # A tensor cannot be there unless somebody imported torch.
    if torch is not None and isinstance(value, torch.Tensor):
        if str(value.dtype).removeprefix("torch.") not in CODES or value.layout != torch.strided or value.is_meta:
            raise _refusal(
                path, f"is a {value.layout} tensor of {value.dtype} on {value.device}, which cannot be saved"
            )
        arrays[name] = value
        return {"$tensor": name}
    if type(value) is np.ndarray:
        if value.dtype.name not in CODES or not value.dtype.isnative:
            raise _refusal(path, f"is an array of {value.dtype!r}, which cannot be saved")
        arrays[name] = value
        return {"$array": name}
    hint = {"tuple": "; use a list", "set": "; use a sorted list"}.get(type(value).__name__, "")
    if isinstance(value, np.generic):
        hint = "; use `.item()` or a 0-dimensional array"
    raise _refusal(path, f"is a {type(value).__module__}.{type(value).__qualname__}, which cannot be saved{hint}")


def _written_key(key: Any, path: tuple[str, ...]) -> str:
    if type(key) is not str:
        raise _refusal(path, f"has the key {key!r}, a {type(key).__name__}; keys must be text")
    text = _checked_text(key, path)
    return f"${text}" if text.startswith("$") else text


def _checked_text(text: str, path: tuple[str, ...]) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _refusal(path, f"holds {text!r}, which UTF-8 cannot write") from error
    return text


def _array_name(path: tuple[str, ...]) -> str:
    """The path as one text, unique among paths (the escapes of JSON pointers, RFC 6901)."""
    name = "/".join(part.replace("~", "~0").replace("/", "~1") for part in path)
    return name if name and name != "__metadata__" else f"~{name}"  # These two safetensors keeps for itself.


def _refusal(path: tuple[str, ...], problem: str) -> UnsavableStateError:
    place = "".join(f"[{part!r}]" for part in path) or "the tree itself"
    return UnsavableStateError(
        f"state_dict: {place} {problem}; a state holds dict with text keys, list, str, int, float, bool, None, "
        f"NumPy arrays and tensors ({', '.join(CODES)})"
    )


def join_tree(document: object, arrays: Mapping[str, StoredArray], source: Path) -> Any:
    """The tree that `split_tree` parted.

    Args:
        document: The JSON document.
        arrays: As `decode_arrays` gave them.
        source: File of the document, for messages.

    Raises:
        DamagedFileError: The document is not what `split_tree` writes, or names an array that is not there.
    """
    if isinstance(document, list):
        return [join_tree(child, arrays, source) for child in document]
    if not isinstance(document, dict):
        return document
    if any(key.startswith("$") and not key.startswith("$$") for key in document):
        try:
            return _untag(document, arrays)
        except (ValueError, KeyError, TypeError, struct.error) as error:
            raise DamagedFileError(f"{source}: is damaged: {document!r:.80} cannot be read") from error
    return {key.removeprefix("$"): join_tree(child, arrays, source) for key, child in document.items()}


def _untag(document: dict[str, Any], arrays: Mapping[str, StoredArray]) -> object:
    ((tag, value),) = document.items()
    if tag == "$int":
        return int(value, 16)
    if tag == "$float":
        return struct.unpack(">d", bytes.fromhex(value))[0]
    if tag == "$array":
        return _to_numpy(arrays[value])
    if tag == "$tensor":
        return _to_torch(arrays[value])
    raise ValueError(tag)


def _to_numpy(stored: StoredArray) -> Array:
    return np.frombuffer(stored.data, dtype=np.dtype(DTYPES[stored.code])).reshape(stored.shape)


def _to_torch(stored: StoredArray) -> torch.Tensor:
    import torch

    dtype: torch.dtype = getattr(torch, DTYPES[stored.code])
    if not stored.data:  # torch.frombuffer refuses empty buffers.
        return torch.empty(stored.shape, dtype=dtype)
    return torch.frombuffer(stored.data, dtype=dtype).reshape(stored.shape)


def first_non_finite(tree: object) -> str | None:
    """Name of the first array or tensor of the tree that holds NaN or an infinity."""
    for name, array in split_tree(tree)[1].items():
        values = array if isinstance(array, np.ndarray) else array.detach().float().cpu().numpy()
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            return name
    return None


def check_same_arrays(loaded: object, own: object, source: Path) -> None:
    """Refuse a loaded tree whose arrays differ in name, shape or dtype from those it is to replace.

    Args:
        loaded: Tree read from a file.
        own: The same tree of the object that is to take it over.
        source: File or folder that `loaded` came from, for the message.

    Raises:
        StateMismatchError: They differ; the message names the first differences.
    """
    saved, wanted = (
        {
            name: f"{str(array.dtype).removeprefix('torch.')}{list(array.shape)}"
            for name, array in split_tree(tree)[1].items()
        }
        for tree in (loaded, own)
    )
    differences = [
        f"  {name}: saved {saved.get(name, 'nothing')}, here {wanted.get(name, 'nothing')}"
        for name in sorted(saved.keys() | wanted.keys())
        if saved.get(name) != wanted.get(name)
    ]
    if differences:
        more = [f"  and {len(differences) - 5} more"] if len(differences) > 5 else []
        raise StateMismatchError(
            "\n".join([f"{source}: holds arrays of other shapes than this network has", *differences[:5], *more])
            + "\nUse the `network` and `environment` sections that it was trained with."
        )
