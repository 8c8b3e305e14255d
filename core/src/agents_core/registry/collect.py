"""One plugin at a time: register its hooks, ask what it offers, and leave no trace of it if anything is wrong."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import pluggy

from agents_core.plugin import (
    BufferSpec,
    CommandSpec,
    ComponentSpec,
    DemonstrationFormatSpec,
    EncoderSpec,
    EnvironmentSpec,
    ExporterSpec,
    Kind,
    RewardSignalSpec,
    StatsWriterSpec,
    TrainerSpec,
    WorkerPoolSpec,
)
from agents_core.registry.hookcalls import call, implementations
from agents_core.registry.metadata import DistributionMetadata
from agents_core.registry.names import describe, is_component_name, nearest, one_line
from agents_core.registry.records import Component, Origin, PluginCommand, PluginRecord
from agents_core.registry.targets import why_missing, why_no_model

REGISTRATION_HOOKS: Mapping[str, tuple[Kind, type[ComponentSpec]]] = {
    "agents_trainers": ("trainer", TrainerSpec),
    "agents_reward_signals": ("reward-signal", RewardSignalSpec),
    "agents_buffers": ("buffer", BufferSpec),
    "agents_stats_writers": ("stats-writer", StatsWriterSpec),
    "agents_environments": ("environment", EnvironmentSpec),
    "agents_worker_pools": ("worker-pool", WorkerPoolSpec),
    "agents_encoders": ("encoder", EncoderSpec),
    "agents_demonstration_formats": ("demonstration-format", DemonstrationFormatSpec),
    "agents_exporters": ("exporter", ExporterSpec),
}
COMMANDS_HOOK = "agents_commands"

_TARGET = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class RejectedPluginError(Exception):
    """A plugin does not keep to the hook contracts; the text is the reason in its record."""


def load_plugin(
    manager: pluggy.PluginManager,
    origin: Origin,
    import_hooks: Callable[[], object],
    metadata: DistributionMetadata | None = None,
) -> PluginRecord:
    """Import a plugin's hooks, register them and collect its specs.

    Whatever goes wrong stays with this plugin: it becomes `broken` with a reason and nothing of it remains
    registered. Only a KeyboardInterrupt gets out.
    """
    offer = _Offer(origin)
    # What a plugin prints while it is imported must not end up in a command's output.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            hooks = offer.collect(manager, import_hooks())
        except (Exception, SystemExit) as error:
            offer.roll_back(manager)
            return PluginRecord(
                origin,
                "broken",
                str(error) if isinstance(error, RejectedPluginError) else describe(error),
                withheld=tuple(offer.components),
                metadata=metadata,
                error=error,
            )
    if not hooks:
        offer.roll_back(manager)
        return PluginRecord(origin, "empty", offer.why_empty(manager), metadata=metadata)
    return PluginRecord(
        origin, hooks=hooks, components=tuple(offer.components), commands=tuple(offer.commands), metadata=metadata
    )


class _Offer:
    """What one plugin brings, while it is being asked."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._plugin: object = None
        self._registered = False
        self.components: list[Component] = []
        self.commands: list[PluginCommand] = []

    def collect(self, manager: pluggy.PluginManager, plugin: object) -> tuple[str, ...]:
        """Register the plugin, fill `components` and `commands`, and return the names of its hooks."""
        self._plugin = plugin
        hash(plugin)  # pluggy keeps plugins in sets: refuse here what would fail there, in someone else's turn
        # Two distributions may hold the same module; its hooks are registered once, its components belong to both.
        if not manager.is_registered(plugin):
            self._registered = True
            self._register(manager, plugin)
        callers = manager.get_hookcallers(plugin) or []
        for caller in callers:
            for implementation in implementations(manager, caller.name):
                if implementation.plugin is plugin:
                    self._check(caller, implementation)
                    self._ask(caller.name, implementation)
        return tuple(sorted(caller.name for caller in callers))

    def _register(self, manager: pluggy.PluginManager, plugin: object) -> None:
        if plugin is None:
            raise RejectedPluginError("its entry point is None, expected a module with hooks")
        try:
            manager.register(plugin, name=self._origin.title)
        except pluggy.PluginValidationError as error:
            # pluggy spreads plugin, definition and the arguments in question over several lines.
            raise RejectedPluginError(one_line(str(error))) from error

    def _check(self, caller: pluggy.HookCaller, implementation: pluggy.HookImpl) -> None:
        """The same as `PluginManager.check_pending`, for one plugin and with the nearest hook."""
        if not caller.has_spec() and not implementation.optionalhook:
            near = nearest(caller.name, _known_hooks())
            hint = f" Did you mean '{near}'?" if near else ""
            raise RejectedPluginError(f"unknown hook '{caller.name}'.{hint}")
        if implementation.wrapper or implementation.hookwrapper:
            raise RejectedPluginError(f"hook {caller.name} is a wrapper; each plugin is called on its own")

    def _ask(self, hook: str, implementation: pluggy.HookImpl) -> None:
        if hook == COMMANDS_HOOK:
            for command in _specs(hook, call(implementation, hook), CommandSpec):
                self._check_spec(hook, command, ("command",), command.help)
                self.commands.append(PluginCommand(command, self._origin))
                _refuse_twice(hook, [known.name for known in self.commands])
        elif hook in REGISTRATION_HOOKS:
            kind, wanted = REGISTRATION_HOOKS[hook]
            for spec in _specs(hook, call(implementation, hook), wanted):
                self._check_spec(hook, spec, ("factory", "config"), spec.summary)
                self.components.append(Component(kind, spec, self._origin))
                _refuse_twice(hook, [known.name for known in self.components if known.kind == kind])

    def _check_spec(self, hook: str, spec: ComponentSpec | CommandSpec, targets: Sequence[str], line: object) -> None:
        """A usable name, a line for lists, and `module:attribute` strings that could be imported."""
        if not isinstance(spec.name, str) or not is_component_name(spec.name):
            raise RejectedPluginError(
                f"{hook} offers the name {spec.name!r}; "
                "names are lower-case letters, digits and single '-' or '_' inside"
            )
        if not isinstance(line, str) or not line.strip():
            raise RejectedPluginError(f"{hook} offers '{spec.name}' without a line for lists")
        for field in targets:
            target = getattr(spec, field)
            if not isinstance(target, str) or not _TARGET.fullmatch(target):
                raise RejectedPluginError(
                    f"{hook}: {field} of '{spec.name}' is {target!r}, expected 'module:attribute'"
                )
            problem = why_missing(target) or (why_no_model(target) if field == "config" else None)
            if problem is not None:
                raise RejectedPluginError(f"{hook}: {field} '{target}' of '{spec.name}': {problem}")

    def roll_back(self, manager: pluggy.PluginManager) -> None:
        """Unregister the plugin, also where `register` itself failed: pluggy before 1.7 leaves half of it behind."""
        if self._registered and manager.is_registered(self._plugin):
            manager.unregister(self._plugin)

    def why_empty(self, manager: pluggy.PluginManager) -> str:
        """The reason in the record of a plugin without hooks."""
        unmarked = sorted(name for name in vars(manager.hook) if callable(getattr(self._plugin, name, None)))
        if unmarked:
            return f"{', '.join(unmarked)} is not marked with @hookimpl from agents_core.plugin"
        return "it has no function marked with @hookimpl from agents_core.plugin"


def _known_hooks() -> list[str]:
    from agents_core.registry import hookspecs

    return [name for name in vars(hookspecs) if name.startswith("agents_")]


_SpecT = TypeVar("_SpecT")


def _specs(hook: str, returned: object, wanted: type[_SpecT]) -> Sequence[_SpecT]:
    """What a registration hook returned, if it is a list of the right specs."""
    if not isinstance(returned, (list, tuple)):
        raise RejectedPluginError(f"{hook} returned {_kind_of(returned)}, expected a list of {wanted.__name__}")
    for index, spec in enumerate(returned):
        if not isinstance(spec, wanted):
            raise RejectedPluginError(f"{hook} returned {_kind_of(spec)} at [{index}], expected {wanted.__name__}")
    return returned


def _kind_of(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _refuse_twice(hook: str, names: Sequence[str]) -> None:
    if names[-1] in names[:-1]:
        raise RejectedPluginError(f"{hook} offers '{names[-1]}' twice")
