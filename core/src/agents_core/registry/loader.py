"""Finds installed plugins, judges each before it is imported, and never lets one take the others down."""

from __future__ import annotations

from collections.abc import Collection

import pluggy

import agents_core
from agents_core.plugin import PROJECT
from agents_core.registry import hookspecs
from agents_core.registry.blocking import Blocking, read_blocking, refuse_essential, refuse_unmatched
from agents_core.registry.collect import load_plugin
from agents_core.registry.discovery import BUILTIN_MODULE, Discovered, discover
from agents_core.registry.names import CORE_DISTRIBUTION, CORE_PLUGIN, describe
from agents_core.registry.records import Origin, PluginRecord
from agents_core.registry.requirements import core_conflict
from agents_core.registry.table import Registry


def load_registry(*, without: Collection[str] = ()) -> Registry:
    """Load core's own components and every installed plugin that is wanted and fits.

    A plugin that cannot be used is a row of `Registry.records` with a status and a reason; nothing else of it stays.
    `AGENTS_DISABLE_PLUGINS` and `AGENTS_LOAD_PLUGINS` hold names separated by commas.

    Args:
        without: Names of plugins, distributions or components whose plugins are not to be loaded.

    Raises:
        BlockedNameError: A name in `without` is essential or matches nothing.
    """
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    core = _register_core(manager)
    blocking = read_blocking(without)
    refuse_essential(blocking, core.origin)
    records = [core, *(_load(manager, plugin, blocking) for plugin in discover())]
    return Registry(manager, _block_components(manager, records, blocking))


def _register_core(manager: pluggy.PluginManager) -> PluginRecord:
    from agents_core import builtin

    origin = Origin(CORE_PLUGIN, CORE_DISTRIBUTION, agents_core.__version__, BUILTIN_MODULE)
    record = load_plugin(manager, origin, lambda: builtin)
    if not record.is_usable:  # a bug of ours, not something to go on without
        raise RuntimeError(record.complaint)
    return record


def _load(manager: pluggy.PluginManager, plugin: Discovered, blocking: Blocking) -> PluginRecord:
    """One plugin's record, in the order of the questions: wanted? readable? made for this core? does it load?"""
    origin, metadata, entry_point = plugin.origin, plugin.metadata, plugin.entry_point
    blocked = blocking.reason(origin)
    if blocked is not None:
        return PluginRecord(origin, "blocked", blocked, metadata=metadata)
    if plugin.problem is not None or entry_point is None:
        return PluginRecord(origin, "broken", plugin.problem, metadata=metadata)
    if metadata is not None:
        try:
            conflict = core_conflict(metadata.name, metadata.version, metadata.requires)
        except Exception as error:
            reason = f"its requirement on {CORE_DISTRIBUTION} cannot be read: {describe(error)}"
            return PluginRecord(origin, "broken", reason, metadata=metadata)
        if conflict is not None:
            return PluginRecord(origin, "incompatible", conflict, metadata=metadata)
    return load_plugin(manager, origin, entry_point.load, metadata)


def _block_components(
    manager: pluggy.PluginManager, records: list[PluginRecord], blocking: Blocking
) -> list[PluginRecord]:
    """Drop the plugins that a block means by the name of a component rather than by their own."""
    for block in blocking.component_blocks([record.origin for record in records]):
        meant = {record.origin for record in records if block.name in record.names and not record.origin.is_core}
        if not meant:
            refuse_unmatched(block, records)
        for origin in meant:
            manager.unregister(name=origin.title)
        records = [
            PluginRecord(record.origin, "blocked", block.source, metadata=record.metadata)
            if record.origin in meant
            else record
            for record in records
        ]
    return records
