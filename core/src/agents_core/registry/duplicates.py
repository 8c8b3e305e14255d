"""Two plugins with one name: both are marked, neither wins by the order of installation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from agents_core.registry.names import normalise
from agents_core.registry.records import PluginRecord


def mark_duplicates(records: Sequence[PluginRecord]) -> tuple[PluginRecord, ...]:
    """Give status `duplicate` to loaded plugins that share a plugin, component or command name.

    What they offer stays usable where a name is unambiguous or qualified. Core is never marked: its names are its own.
    """
    holders: defaultdict[str, list[PluginRecord]] = defaultdict(list)
    for record in records:
        if record.is_usable:
            for name in _names(record):
                holders[name].append(record)
    clashes: defaultdict[int, list[str]] = defaultdict(list)
    for name, sharing in holders.items():
        for record in sharing:
            others = [other.label for other in sharing if other is not record]
            if others and not record.origin.is_core:
                clashes[id(record)].append(f"{name} also belongs to {' and '.join(others)}")
    return tuple(
        replace(record, status="duplicate", reason="; ".join(clashes[id(record)])) if id(record) in clashes else record
        for record in records
    )


def _names(record: PluginRecord) -> list[str]:
    return [
        f"plugin name '{normalise(record.name)}'",
        *(component.title for component in record.components),
        *(command.title for command in record.commands),
    ]
