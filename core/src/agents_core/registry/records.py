"""Rows of the registry: plugins, the components and commands they offer, and where each comes from."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from agents_core.plugin import CommandSpec, ComponentSpec, Kind
from agents_core.registry.errors import BrokenPluginError
from agents_core.registry.metadata import DistributionMetadata
from agents_core.registry.names import CORE_PLUGIN, describe, normalise, words

if TYPE_CHECKING:
    from agents_core.options import ConfigModel

Status = Literal["ok", "blocked", "duplicate", "incompatible", "broken", "empty"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where something comes from.

    Attributes:
        plugin: Entry-point name, or the module name of a local plugin.
        distribution: None for a local plugin.
        entry_point: Module that holds the hooks, or the path of a local file.
    """

    plugin: str
    distribution: str | None
    version: str | None
    entry_point: str

    @property
    def label(self) -> str:
        """`agents-ppo 0.1.0`, or the path of a local plugin."""
        return f"{self.distribution} {self.version}" if self.distribution else self.entry_point

    @property
    def title(self) -> str:
        """Plugin, distribution and version for messages; unique, so it is also the name that pluggy knows."""
        return f"plugin '{self.plugin}' of {self.label}"

    @property
    def qualifier(self) -> str:
        """What stands before the colon of a qualified name."""
        return self.distribution or self.plugin

    @property
    def is_core(self) -> bool:
        return self.plugin == CORE_PLUGIN and self.entry_point == "agents_core.builtin"

    def is_called(self, name: str) -> bool:
        """Whether `name` is this plugin's name or its distribution's."""
        return normalise(name) in (normalise(self.plugin), normalise(self.distribution or self.plugin))


@dataclass(frozen=True, slots=True)
class Component:
    """One component, ready to be found by name; its config and factory are imported when asked for."""

    kind: Kind
    spec: ComponentSpec
    origin: Origin

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def plugin(self) -> str:
        return self.origin.plugin

    @property
    def distribution(self) -> str | None:
        return self.origin.distribution

    @property
    def version(self) -> str | None:
        return self.origin.version

    @property
    def qualified_name(self) -> str:
        """`agents-ppo:ppo`: the name that picks this one where several plugins offer it."""
        return f"{self.origin.qualifier}:{self.name}"

    @property
    def title(self) -> str:
        """`trainer 'ppo'`, for messages."""
        return f"{words(self.kind)} '{self.name}'"

    @property
    def full_title(self) -> str:
        """`trainer 'ppo' of agents-ppo 0.1.0`."""
        return f"{self.title} of {self.origin.label}"

    def load_config(self) -> type[ConfigModel]:
        """Import the config model.

        Raises:
            BrokenPluginError: It cannot be imported or is no `ConfigModel`.
        """
        from agents_core.options import ConfigModel

        model = load_attribute(self.spec.config, self.origin, f"{self.title}: config")
        if not (isinstance(model, type) and issubclass(model, ConfigModel)):
            raise BrokenPluginError(
                f"{self.title}: config '{self.spec.config}' of {_source(self.origin)} is no subclass of "
                f"agents_core.options.ConfigModel. {way_out(self.origin)}"
            )
        return model

    def load_factory(self) -> Callable[..., Any]:
        """Import what makes the component.

        Raises:
            BrokenPluginError: It cannot be imported or called.
        """
        return self.load_function("factory", self.spec.factory)

    def load_function(self, role: str, target: str) -> Callable[..., Any]:
        """Import a function that the spec names as `module:attribute`; `role` is the field that does.

        Raises:
            BrokenPluginError: It cannot be imported or called.
        """
        function = load_attribute(target, self.origin, f"{self.title}: {role}")
        if not callable(function):
            raise BrokenPluginError(
                f"{self.title}: {role} '{target}' of {_source(self.origin)} cannot be called. {way_out(self.origin)}"
            )
        return function


@dataclass(frozen=True, slots=True)
class PluginCommand:
    """A command that a plugin adds to `agents`."""

    spec: CommandSpec
    origin: Origin

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def qualified_name(self) -> str:
        return f"{self.origin.qualifier}:{self.name}"

    @property
    def title(self) -> str:
        return f"command '{self.name}'"

    def load(self) -> object:
        """Import the click command.

        Raises:
            BrokenPluginError: It cannot be imported.
        """
        return load_attribute(self.spec.command, self.origin, self.title)


@dataclass(frozen=True, slots=True)
class PluginRecord:
    """What became of one plugin.

    Attributes:
        status: `ok`; `duplicate`: loaded, but shares a name with another; `empty`: no hooks; `blocked` by the user;
            `incompatible`: made for another core, never imported; `broken`.
        reason: Why it is not `ok`, on one line.
        hooks: Names of the hooks it implements.
        components: What it offers; nothing unless it `is_usable`.
        withheld: What a broken plugin had offered before it was found broken; for messages only.
        error: What it raised where it is broken.
    """

    origin: Origin
    status: Status = "ok"
    reason: str | None = None
    hooks: tuple[str, ...] = ()
    components: tuple[Component, ...] = ()
    commands: tuple[PluginCommand, ...] = ()
    withheld: tuple[Component, ...] = ()
    metadata: DistributionMetadata | None = None
    error: BaseException | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        return self.origin.plugin

    @property
    def distribution(self) -> str | None:
        return self.origin.distribution

    @property
    def version(self) -> str | None:
        return self.origin.version

    @property
    def entry_point(self) -> str:
        return self.origin.entry_point

    @property
    def module(self) -> str:
        """The module of its hooks; a local file's is named like the plugin."""
        return self.entry_point.partition(":")[0].strip() if self.distribution else self.name

    @property
    def label(self) -> str:
        return self.origin.label

    @property
    def names(self) -> frozenset[str]:
        """Names of the components and commands that it offers, or would if it were in order."""
        components = (component.name for component in (*self.components, *self.withheld))
        return frozenset((*components, *(command.name for command in self.commands)))

    @property
    def is_usable(self) -> bool:
        """Whether what it offers can be used."""
        return self.status in ("ok", "duplicate")

    @property
    def is_bad(self) -> bool:
        """Whether its author or the user has something to repair."""
        return self.status not in ("ok", "blocked")

    @property
    def complaint(self) -> str:
        """The plugin, its status and the reason on one line."""
        return f"{_source(self.origin)} is {self.status}: {self.reason}"


def load_attribute(target: str, origin: Origin, what: str) -> object:
    """Import a lazy `module:attribute` of a plugin; `what` says in the error what it is for.

    Raises:
        BrokenPluginError: Naming the plugin, its distribution and the cause.
    """
    module, _, attribute = target.partition(":")
    try:
        value: Any = importlib.import_module(module)
        for part in attribute.split("."):
            value = getattr(value, part)
    except (Exception, SystemExit) as error:
        raise BrokenPluginError(
            f"{what} '{target}' of {_source(origin)} cannot be loaded: {describe(error)}. {way_out(origin)}"
        ) from error
    return value


def _source(origin: Origin) -> str:
    return f"{origin.title} ({origin.entry_point})" if origin.distribution else origin.title


def way_out(origin: Origin) -> str:
    """What a user can do about a plugin that does not work."""
    trace = "AGENTS_PLUGIN_TRACEBACK=1 shows the traceback."
    if origin.distribution is None:
        return trace
    if origin.is_core:
        return f"Reinstall it with: pip install --force-reinstall {origin.distribution}. {trace}"
    return (
        f"Repair it (pip install -U {origin.distribution}), remove it (pip uninstall {origin.distribution}) "
        f"or block it (--without {origin.distribution}). {trace}"
    )
