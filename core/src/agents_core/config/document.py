"""The tree of an experiment before it has types: scalars, tables and lists that know where they were written."""

from __future__ import annotations

import math
import numbers
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MAX_DEPTH = 50
"""Levels of nesting; a guard against files that are no experiments."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where something was written: `FILE:LINE:COL`, an argument of the command line, or a Python mapping."""

    source: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}:{self.column}"

    @property
    def order(self) -> tuple[bool, str, int, int]:
        """Sorts files before arguments, and each in its own order."""
        return (self.line is None, self.source, self.line or 0, self.column or 0)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value.

    Attributes:
        value: What it is on its own, where no type is declared for it.
        text: As it was written; None if it came from Python as something else than text.
        removes: Whether it is the `null` that took the place of another value.
    """

    position: Position
    value: object
    text: str | None = None
    removes: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping; `keys` holds where each key was written."""

    position: Position
    keys: Mapping[str, Position]
    values: Mapping[str, Node]

    def with_value(self, key: str, value: Node, position: Position) -> Table:
        """The same table with one key set."""
        return Table(self.position, {**self.keys, key: position}, {**self.values, key: value})

    def without(self, *names: str) -> Table:
        """The same table without some keys."""
        kept = [key for key in self.values if key not in names]
        return Table(self.position, {key: self.keys[key] for key in kept}, {key: self.values[key] for key in kept})

    def only(self, *names: str) -> Table:
        """The same table with nothing but some keys."""
        return self.without(*(key for key in self.values if key not in names))


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    position: Position
    nodes: tuple[Node, ...]


Node = Scalar | Table | Items


def empty_table(position: Position) -> Table:
    """A table that sets nothing."""
    return Table(position, {}, {})


_DIGITS = r"(?:0|[1-9][0-9]*(?:_[0-9]+)*)"
_INTEGER = re.compile(rf"[-+]?{_DIGITS}")
_FLOAT = re.compile(rf"[-+]?(?:{_DIGITS}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_LONGEST_INTEGER = 400


def number(text: str) -> int | float | None:
    """The number that a text is: `3e-4`, `1e6` and `100_000` are; `010` and `1:30` are not."""
    if _INTEGER.fullmatch(text) and len(text) <= _LONGEST_INTEGER:
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if match := _SPECIAL.fullmatch(text):
        return float(f"{match[1]}inf") if match[2] else math.nan
    return None


def natural(text: str) -> object:
    """What an unquoted text is where no type is declared: YAML 1.2's core types, and numbers as `number` reads them.

    `no`, `off`, `010` and `1:30`, which YAML 1.1 takes for something else, are text.
    """
    if text in _WORDS:
        return _WORDS[text]
    found = number(text)
    return text if found is None else found


def plain(node: Node) -> object:
    """The tree as plain values, each as it is on its own; values removed by `null` are left out."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Items):
        return [plain(item) for item in node.nodes]
    return {key: plain(value) for key, value in node.values.items() if not is_removed(value)}


def is_removed(node: Node) -> bool:
    """Whether a value was taken away by `null`."""
    return isinstance(node, Scalar) and node.removes


def child(node: Node | None, step: str | int) -> Node | None:
    """What is under a key of a table or at an index of a list; None where there is nothing."""
    if isinstance(node, Table) and isinstance(step, str):
        return node.values.get(step)
    if isinstance(node, Items) and str(step).isdecimal() and int(step) < len(node.nodes):
        return node.nodes[int(step)]
    return None


def nearest_position(node: Node, steps: Sequence[str], position: Position) -> Position:
    """Where the value under these keys and indices was written, or the innermost section that it would be in.

    Args:
        node: Where the steps start.
        steps: One inside the other.
        position: Of the key of `node`.
    """
    for step in steps:
        inner = child(node, step)
        if inner is None or is_removed(inner):
            break
        position = node.keys[step] if isinstance(node, Table) and isinstance(inner, Table) else inner.position
        node = inner
    return position


def from_python(value: object, position: Position, depth: int = 0) -> Node:
    """The tree of a Python mapping, list or scalar.

    Raises:
        TypeError: A key is no text, or the nesting is too deep.
    """
    if depth > MAX_DEPTH:
        raise TypeError(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is no text")
        nodes = {str(key): from_python(item, position, depth + 1) for key, item in value.items()}
        return Table(position, dict.fromkeys(nodes, position), nodes)
    if isinstance(value, str):
        return Scalar(position, str(value), str(value))
    if isinstance(value, os.PathLike):
        return from_python(os.fspath(value), position, depth)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return Items(position, tuple(from_python(item, position, depth + 1) for item in value))
    return Scalar(position, _python_scalar(value))


def _python_scalar(value: object) -> object:
    """NumPy's numbers as Python's own; anything unknown as it is, for its field to refuse."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    return value
