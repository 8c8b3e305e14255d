"""`--set a.b.c=VALUE`: changes to an experiment from the command line, with the same checks as the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agents_core.config.document import Node, Position, Table, empty_table
from agents_core.config.errors import ConfigError, KeyPath, Mistake
from agents_core.config.merging import EVERY, merge, shorten_names
from agents_core.config.reader import read_text

_KEY = re.compile(r'"(?:[^"]|"")*"|\'(?:[^\']|\'\')*\'|[^.=\s"\'][^.=\s]*')


@dataclass(frozen=True, slots=True)
class Override:
    """One change.

    Attributes:
        path: Keys from the top to what is set.
        reaches_all: Whether the second key is `*` without quotes: every behavior, named ones too.
    """

    path: KeyPath
    reaches_all: bool
    value: Node
    position: Position


def parse(text: str) -> Override:
    """Read `a.b.c=VALUE`.

    Keys with dots, blanks or `=` stand in quotes. `behaviors.*.x` sets x in every behavior; `behaviors."*".x` only in
    the entry `"*"`. VALUE is YAML, read by the declared type of what it sets.

    Raises:
        ConfigError: It has no such form, or the value is not YAML.
    """
    position = Position(f"--set {text}")
    keys: list[str] = []
    index = 0
    while match := _KEY.match(text, index):
        keys.append(match[0])
        index = match.end() + 1
        if text[match.end() : index] != ".":
            break
    if match is None or text[index - 1 : index] != "=":
        raise _no_override(position)
    reaches_all = keys[:2] == ["behaviors", EVERY]
    path = tuple(_unquoted(key) for key in keys)
    return Override(path, reaches_all, read_text(text[index:], position.source, is_argument=True), position)


def _unquoted(key: str) -> str:
    quote = key[0]
    return key[1:-1].replace(quote * 2, quote) if quote in "\"'" else key


def _no_override(position: Position) -> ConfigError:
    message = "expected KEY=VALUE with keys joined by dots, such as behaviors.*.trainer.batch_size=64"
    return ConfigError([Mistake(position, (), message)])


def parse_all(texts: Sequence[str], mistakes: list[Mistake]) -> list[Override]:
    """Every override that can be read; the others are added to the mistakes."""
    overrides = []
    for text in texts:
        try:
            overrides.append(parse(text))
        except ConfigError as error:
            mistakes += error.mistakes
    return overrides


def apply(root: Table, override: Override) -> Table:
    """The experiment with one change."""
    behaviors = root.values.get("behaviors")
    entries = behaviors.values if isinstance(behaviors, Table) else {}
    if override.reaches_all:
        for name in list(entries) or [EVERY]:
            root = _set(root, ("behaviors", name, *override.path[2:]), override)
        return root
    if override.path[0] == "behaviors" and len(override.path) > 2:
        name = override.path[1]
        if name not in entries and EVERY in entries:  # a new behavior starts from what all have
            common = Override(("behaviors", name), False, entries[EVERY], override.position)
            root = _set(root, common.path, common)
    return _set(root, override.path, override)


def _set(root: Table, path: KeyPath, override: Override) -> Table:
    node = override.value
    for key in reversed(path):
        node = empty_table(override.position).with_value(key, node, override.position)
    assert isinstance(node, Table)
    merged = merge(root, shorten_names(node))
    assert isinstance(merged, Table)
    return merged
