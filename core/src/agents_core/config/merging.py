"""How parts of an experiment come together: `"*"` into named behaviors, overrides into files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agents_core.config.document import Node, Scalar, Table, empty_table

EVERY = "*"
"""The behavior entry that stands for all."""


def merge(base: Node | None, over: Node) -> Node:
    """`over` laid upon `base`.

    Tables merge key by key, unless both name a `type` and it differs: then `over` replaces `base`. Anything else
    replaces. `null` over something removes it; it stays in the tree as a scalar that `removes`, so that a field that
    takes None gets it.
    """
    if base is None:
        return over
    if isinstance(over, Scalar) and over.value is None:
        return replace(over, removes=True)
    if not isinstance(base, Table) or not isinstance(over, Table) or _types_differ(base, over):
        return over
    keys, values = dict(base.keys), dict(base.values)
    for key, node in over.values.items():
        values[key] = merge(base.values.get(key), node)
        if values[key] is node or not isinstance(node, Table):
            keys[key] = over.keys[key]
    return Table(base.position, keys, values)


def _types_differ(base: Table, over: Table) -> bool:
    ours, theirs = base.values.get("type"), over.values.get("type")
    if not isinstance(ours, Scalar) or not isinstance(theirs, Scalar):
        return False
    return theirs.value is not None and ours.value != theirs.value


def expand(root: Table) -> Table:
    """The experiment with every named behavior complete: with what it takes over from `"*"`."""
    behaviors = root.values.get("behaviors")
    common = behaviors.values.get(EVERY) if isinstance(behaviors, Table) else None
    if not isinstance(behaviors, Table) or not isinstance(common, Table):
        return root
    values = {
        name: merge(common, node) if name != EVERY and isinstance(node, Table) else node
        for name, node in behaviors.values.items()
    }
    return _replace(root, "behaviors", Table(behaviors.position, behaviors.keys, values))


def shorten_names(root: Table) -> Table:
    """The experiment with `agents-rnd:rnd: {...}` written as `rnd: {type: agents-rnd:rnd, ...}`.

    So the same signal or writer has the same name, however it is written.
    """
    behaviors = root.values.get("behaviors")
    if isinstance(behaviors, Table):
        for name, entry in behaviors.values.items():
            if isinstance(entry, Table):
                behaviors = _replace(behaviors, name, _shorten(entry, "reward_signals"))
        root = _replace(root, "behaviors", behaviors)
    return _shorten(root, "stats")


def _shorten(parent: Table, key: str) -> Table:
    sections = parent.values.get(key)
    if not isinstance(sections, Table):
        return parent
    short = empty_table(sections.position)
    for name, node in sections.values.items():
        position = sections.keys[name]
        plain_name = name.rpartition(":")[2]
        if plain_name == name or plain_name in sections.values:
            short = short.with_value(name, node, position)
            continue
        if isinstance(node, Table) and "type" not in node.values:
            node = node.with_value("type", Scalar(position, name, name), position)
        short = short.with_value(plain_name, node, position)
    return _replace(parent, key, short)


def _replace(table: Table, key: str, value: Table) -> Table:
    return table.with_value(key, value, table.keys[key])


def fill_gaps(common: Mapping[str, object], own: Mapping[str, object]) -> dict[str, object]:
    """A resolved behavior as it must be written beside a resolved `"*"` so that merging gives it back.

    What `"*"` has and the behavior lacks is written as null.
    """
    written = dict(own)
    for key, value in common.items():
        if key not in own:
            written[key] = None
            continue
        inner = own[key]
        if isinstance(value, Mapping) and isinstance(inner, Mapping) and not _named_types_differ(value, inner):
            written[key] = fill_gaps(value, inner)
    return written


def _named_types_differ(base: Mapping[str, object], over: Mapping[str, object]) -> bool:
    ours, theirs = base.get("type"), over.get("type")
    if any(kind is None or isinstance(kind, Mapping | list) for kind in (ours, theirs)):
        return False
    return ours != theirs
