"""The registry: what is installed, found by kind and name, and the plugins that watch a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import get_args

import pluggy

from agents_core.plugin import Kind
from agents_core.registry.collect import load_plugin
from agents_core.registry.duplicates import mark_duplicates
from agents_core.registry.errors import LocalPluginError, StrictPluginsError
from agents_core.registry.hookcalls import notify
from agents_core.registry.local import locate
from agents_core.registry.lookup import choose, matching, refuse_component, refuse_name
from agents_core.registry.records import Component, PluginCommand, PluginRecord
from agents_core.registry.requirements import check_requirements

ALL_KINDS: tuple[Kind, ...] = get_args(Kind)


class Registry:
    """Everything that core and the loaded plugins offer."""

    def __init__(self, manager: pluggy.PluginManager, records: Sequence[PluginRecord]) -> None:
        self._manager = manager
        self._records = mark_duplicates(records)

    @property
    def records(self) -> tuple[PluginRecord, ...]:
        """One row for each plugin, core first."""
        return self._records

    def components(self, kind: Kind | None = None) -> tuple[Component, ...]:
        """Every usable component, or those of one kind."""
        return tuple(
            component for record in self._records for component in record.components if kind in (None, component.kind)
        )

    def commands(self) -> tuple[PluginCommand, ...]:
        """The commands that plugins add."""
        return tuple(command for record in self._records for command in record.commands)

    def find(self, kind: Kind, name: str) -> Component:
        """The component of a kind by its name, plain (`ppo`) or qualified (`agents-ppo:ppo`).

        Raises:
            UnknownComponentError: Nothing has this name; the nearest or the package to install is named.
            BrokenPluginError: Its plugin is broken, incompatible or blocked.
            AmbiguousComponentError: Several plugins offer it.
        """
        found = matching(self.components(kind), name)
        if not found:
            refuse_component(kind, name, self.components(), self._records)
        return choose(found)

    def find_command(self, name: str) -> PluginCommand | None:
        """The plugin command of this name, plain or qualified; None where there is none.

        Raises:
            AmbiguousComponentError: Several plugins offer it.
        """
        found = matching(self.commands(), name)
        return choose(found) if found else None

    def find_any(self, name: str, kinds: Collection[Kind] = ALL_KINDS) -> tuple[Component, ...]:
        """The components that a component, plugin or distribution name means, at most one of each kind and name.

        Args:
            name: A component name means that component; else the name of a plugin or a distribution means all of
                its components.
            kinds: Where only these make sense.

        Raises:
            UnknownComponentError, BrokenPluginError, AmbiguousComponentError: As `find`.
        """
        candidates = [component for component in self.components() if component.kind in kinds]
        found = matching(candidates, name)
        if found:
            return tuple(
                choose([component for component in found if component.kind == kind])
                for kind in ALL_KINDS
                if any(component.kind == kind for component in found)
            )
        own = tuple(component for component in candidates if component.origin.is_called(name))
        if not own:
            refuse_name(name, kinds, self.components(), self._records)
        return own

    def find_records(self, name: str) -> tuple[PluginRecord, ...]:
        """The plugins, usable or not, that a plugin, distribution or component name means.

        Raises:
            UnknownComponentError: None has this name.
        """
        meant = {record.origin for record in self._records if record.origin.is_called(name)}
        for record in self._records:
            meant |= {component.origin for component in matching((*record.components, *record.withheld), name)}
            meant |= {command.origin for command in matching(record.commands, name)}
        if not meant:
            refuse_name(name, ALL_KINDS, self.components(), self._records)
        return tuple(record for record in self._records if record.origin in meant)

    def add_local(self, target: str, directory: Path) -> None:
        """Load a plugin that is not packaged, from a file or a module.

        Args:
            target: A file such as `my_signal.py`, relative to `directory`, or a module name.
            directory: Where the experiment file lies.

        Raises:
            LocalPluginError: It is not there, raises, has no hooks or offers rubbish.
        """
        plugin = locate(target, directory)
        if any(
            record.origin == plugin.origin or record.entry_point == plugin.module
            for record in self._records
            if record.is_usable
        ):
            return
        record = load_plugin(self._manager, plugin.origin, plugin.load)
        if not record.is_usable:
            plugin.forget()
            raise LocalPluginError(
                f"plugins: '{target}' ({record.entry_point}) is {record.status}: {record.reason}"
            ) from record.error
        self._records = mark_duplicates([*self._records, record])

    def check_requirements(self, requires: Sequence[str]) -> None:
        """Judge an experiment's `requires:`, such as `agents-rnd>=0.3`.

        Raises:
            RequirementError: With everything that is missing and how to get it.
        """
        check_requirements(requires, self._records)

    def refuse_bad_plugins(self) -> None:
        """`--strict-plugins`: every installed plugin must be in order; blocked ones are.

        Raises:
            StrictPluginsError: With one line for each that is not.
        """
        bad = [record.complaint for record in self._records if record.is_bad]
        if bad:
            raise StrictPluginsError("\n".join([f"{len(bad)} plugins are not in order:", *bad]))

    # Observers: an exception in one is an ObserverError that names its plugin.

    def run_started(self, run_directory: Path, config: Mapping[str, object]) -> None:
        """A run is about to take its first step."""
        notify(self._manager, self._records, "agents_run_started", run_directory=run_directory, config=config)

    def update_finished(self, behavior: str, step: int, stats: Mapping[str, float]) -> None:
        """A trainer finished an update."""
        notify(self._manager, self._records, "agents_update_finished", behavior=behavior, step=step, stats=stats)

    def checkpoint_saved(self, behavior: str, step: int, path: Path) -> None:
        """A checkpoint is complete on disk."""
        notify(self._manager, self._records, "agents_checkpoint_saved", behavior=behavior, step=step, path=path)

    def evaluation_finished(self, behavior: str, step: int, stats: Mapping[str, float]) -> None:
        """An evaluation during training is done."""
        notify(self._manager, self._records, "agents_evaluation_finished", behavior=behavior, step=step, stats=stats)

    def run_finished(self, run_directory: Path, status: str) -> None:
        """A run ended: `finished`, `interrupted` or `failed`."""
        notify(self._manager, self._records, "agents_run_finished", run_directory=run_directory, status=status)
