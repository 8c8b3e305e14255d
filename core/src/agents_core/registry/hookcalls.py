"""Calling hooks plugin by plugin, so that each failure has a name; and `AGENTS_TRACE_HOOKS=1`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

import pluggy

from agents_core.registry.errors import ObserverError
from agents_core.registry.names import describe
from agents_core.registry.records import PluginRecord, way_out

# `pluggy.HookCaller.__call__` runs all plugins at once: the first exception loses the results of the others and the
# name of the culprit. `pluggy.PluginManager.subset_hook_caller` looks into every other plugin. So: one by one.


def implementations(manager: pluggy.PluginManager, hook: str) -> Iterator[pluggy.HookImpl]:
    """The implementations of a hook, in the order of their plugins' names."""
    caller: pluggy.HookCaller = getattr(manager.hook, hook)
    yield from sorted(caller.get_hookimpls(), key=lambda implementation: implementation.plugin_name)


def call(implementation: pluggy.HookImpl, hook: str, **arguments: object) -> object:
    """Call one implementation with those of the hook's arguments that it asks for."""
    wanted = {name: arguments[name] for name in implementation.argnames}
    result: object = implementation.function(**wanted)
    if os.environ.get("AGENTS_TRACE_HOOKS", "0") not in ("", "0"):
        given = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
        print(f"hook {hook}({given}) by {implementation.plugin_name} -> {result!r}", file=sys.stderr)
    return result


def notify(manager: pluggy.PluginManager, records: Iterable[PluginRecord], hook: str, **arguments: object) -> None:
    """Call an observer hook of every plugin.

    Raises:
        ObserverError: One of them raised; it names the plugin and keeps the exit code of an `AgentsError`.
    """
    for implementation in implementations(manager, hook):
        try:
            call(implementation, hook, **arguments)
        except (Exception, SystemExit) as error:
            title = implementation.plugin_name
            ways_out = "".join(f". {way_out(record.origin)}" for record in records if record.origin.title == title)
            wrapped = ObserverError(f"{title}: hook {hook} failed: {describe(error)}{ways_out}")
            wrapped.exit_code = getattr(error, "exit_code", ObserverError.exit_code)
            raise wrapped from error
