"""State trees as checkpoints keep them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents_core.training.state_files import decode_arrays, dump_document, encode_arrays, parse_document
from agents_core.training.state_tree import join_tree, split_tree

_NOWHERE = Path("state")


def through_checkpoint(tree: Any) -> Any:
    """What a checkpoint gives back of a state tree.

    Raises:
        UnsavableStateError: Something in it cannot be saved; the message names its path.
    """
    document, arrays = split_tree(tree)
    stored = decode_arrays(encode_arrays(arrays), _NOWHERE)
    return join_tree(parse_document(dump_document(document), _NOWHERE), stored, _NOWHERE)


def difference(first: Any, second: Any, path: str = "") -> str | None:
    """Where two trees differ, bit for bit; None where they are equal."""
    where = path or "the whole"
    if isinstance(first, dict) and isinstance(second, dict):
        if first.keys() != second.keys():
            return f"{where}: keys {sorted(first)} and {sorted(second)}"
        return next(
            (found for key in first if (found := difference(first[key], second[key], f"{path}[{key!r}]"))), None
        )
    if isinstance(first, list | tuple) and isinstance(second, list | tuple) and len(first) == len(second):
        pairs = enumerate(zip(first, second, strict=True))
        return next((found for place, pair in pairs if (found := difference(*pair, f"{path}[{place}]"))), None)
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        first, second = (tensor.detach().cpu().numpy() for tensor in (first, second))
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        equal = first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()
        start = _first_difference(first, second)
        return None if equal else f"{where}: {_shown(first, start)} and {_shown(second, start)}"
    same = type(first) is type(second) and (first == second or first != first)
    return None if same else f"{where}: {first!r:.80} and {second!r:.80}"


def _first_difference(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> int:
    if first.shape != second.shape:
        return 0
    return int(np.argmax((first != second).reshape(-1))) if first.size else 0


def _shown(array: np.ndarray[Any, Any], start: int) -> str:
    """Type, shape and some numbers from place `start` on, counted through all axes."""
    values = ", ".join(map(str, array.reshape(-1)[start : start + 4]))
    before, after = "…, " if start else "", ", …" if array.size > start + 4 else ""
    return f"{array.dtype}{list(array.shape)} [{before}{values}{after}]"
