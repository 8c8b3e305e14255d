"""Where each value of an experiment comes from: a line of its file, an argument, or a default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents_core.config.document import Node, Table
from agents_core.config.loading import Resolved

DEFAULT = "default"


def origin(resolved: Resolved, path: tuple[str, ...]) -> str:
    """`FILE:LINE`, `--set ...`, or `default`, for the value under these keys of the resolved experiment."""
    node: Node | None = resolved.tree
    for key in path:
        if not isinstance(node, Table):
            break  # a part of what was written as one value, such as a schedule given as a number
        node = node.values.get(key)
    if node is None:
        return DEFAULT
    position = node.position
    return position.source if position.line is None else f"{position.source}:{position.line}"


def origins(resolved: Resolved, values: Mapping[str, Any]) -> dict[str, Any]:
    """The origin of each of these values of the resolved experiment, in its place."""

    def replace(value: object, path: tuple[str, ...]) -> object:
        if isinstance(value, Mapping) and value:
            return {key: replace(inner, (*path, key)) for key, inner in value.items()}
        return origin(resolved, path)

    return {key: replace(value, (key,)) for key, value in values.items()}


def written_values(resolved: Resolved) -> dict[str, Any]:
    """The part of the resolved experiment that no default filled in."""
    return _written(resolved.experiment.to_dict(), resolved.tree)


def _written(values: Mapping[str, Any], tree: Table) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for key, value in values.items():
        node = tree.values.get(key)
        if isinstance(node, Table) and isinstance(value, Mapping):
            written[key] = _written(value, node)
        elif node is not None:
            written[key] = value
    return written
