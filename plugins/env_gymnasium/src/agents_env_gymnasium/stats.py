"""Statistics that an experiment picks out of `info`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from agents_core.errors import UserError


class InfoStats:
    """Collects the scalars under the keys of `environment.stats`; `a.b` reads `info["a"]["b"]`."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._paths = {key: key.split(".") for key in keys}

    def __bool__(self) -> bool:
        return bool(self._paths)

    def read_rows(self, infos: Iterable[Mapping[str, Any]]) -> dict[str, list[float]]:
        """Numbers of single environments, by key; a key that no info has is left out."""
        found: dict[str, list[float]] = {}
        for info in infos:
            for key, path in self._paths.items():
                value = _find(info, path)
                if value is not None:
                    found.setdefault(key, []).append(_number(value, key))
        return found

    def read_batch(self, info: Mapping[str, Any], rows: Sequence[int]) -> dict[str, list[float]]:
        """Numbers of some instances of a vector environment, whose info holds an array for each key."""
        found: dict[str, list[float]] = {}
        for key, path in self._paths.items():
            values = _find(info, path)
            if values is None:
                continue
            # `_key` says which instances have the key.
            present = _find(info, [*path[:-1], f"_{path[-1]}"])
            picked = [_number(values[row], key) for row in rows if present is None or present[row]]
            if picked:
                found[key] = picked
        return found


def merge(*parts: Mapping[str, list[float]]) -> dict[str, list[float]]:
    """The numbers of all parts under each key."""
    merged: dict[str, list[float]] = {}
    for part in parts:
        for key, values in part.items():
            merged.setdefault(key, []).extend(values)
    return merged


def _find(info: Any, path: Sequence[str]) -> Any:
    for key in path:
        if not isinstance(info, Mapping) or key not in info:
            return None
        info = info[key]
    return info


def _number(value: Any, key: str) -> float:
    if np.size(value) != 1 or np.asarray(value).dtype.kind not in "biuf":
        raise UserError(f"environment.stats: info['{key}'] is no number but {value!r}; name keys of scalars only")
    return float(np.asarray(value).reshape(()))
