"""Finds the data files that a component's options name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from agents_core.options import DataFile, is_prefixed


def data_files(config: BaseModel, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Path]]:
    """Every path in a field declared as `DataPath` or `DemonstrationPath`, with the keys that lead to it."""
    for name, field in type(config).model_fields.items():
        here = (*keys, field.alias or name)
        value = getattr(config, name)
        if isinstance(value, BaseModel):
            yield from data_files(value, here)
        elif _is_marked(field.metadata) or _holds_data_path(field.annotation):
            yield from _paths(value, here)


def _is_marked(metadata: Any) -> bool:
    return any(isinstance(entry, DataFile) for entry in metadata)


def _holds_data_path(annotation: object) -> bool:
    return _is_marked(getattr(annotation, "__metadata__", ())) or any(
        _holds_data_path(argument) for argument in get_args(annotation)
    )


def _paths(value: object, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Path]]:
    if isinstance(value, Path):
        if not is_prefixed(value):
            yield keys, value
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _paths(item, (*keys, str(index)))
