"""`agents plugins check`: which checks there are for a name, and how they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import indent

import click

from agents_core.config.coercion import fields_by_key, read_model
from agents_core.config.document import Position, Table, empty_table
from agents_core.config.overrides import apply, parse
from agents_core.errors import UserError
from agents_core.registry import Component, PluginRecord, Registry
from agents_core.registry.conformance import Check, check_plugin
from agents_core.registry.lookup import matching

Results = Iterable[tuple[PluginRecord, Iterable[Check]]]


def find_checked(registry: Registry, name: str) -> tuple[PluginRecord, ...]:
    """The plugins that a name or a file means.

    Raises:
        UserError: There are none.
    """
    if not name.endswith(".py"):
        return registry.find_records(name)
    registry.add_local(name, Path.cwd())
    path = str(Path(name).resolve())
    return tuple(record for record in registry.records if record.entry_point == path)


def check_all(
    registry: Registry, records: Sequence[PluginRecord], name: str, settings: Sequence[str]
) -> Iterator[tuple[PluginRecord, Iterator[Check]]]:
    """The checks of each plugin; they are made when they are asked for.

    Raises:
        UserError: A setting is no `KEY=VALUE`, or an option of nothing that is checked.
    """
    table = empty_table(Position("--set"))
    for setting in settings:
        table = apply(table, parse(setting))
    meant = {record.origin: _meant(record, name) for record in records}
    options = {component: _options(component, table) for components in meant.values() for component in components}
    unknown = table.values.keys() - {key for known in options.values() for key in known}
    if unknown:
        raise UserError(f"--set {sorted(unknown)[0]}: nothing that '{name}' means has such an option")
    for record in records:
        yield record, _checks(registry, record, meant[record.origin], options)


def _meant(record: PluginRecord, name: str) -> list[Component]:
    """All components where the name is the plugin's, the distribution's or a file's, else those of the name."""
    if record.origin.is_called(name) or name.endswith(".py"):
        return list(record.components)
    return matching(record.components, name)


def _options(component: Component, table: Table) -> Mapping[str, object]:
    """The settings that are options of the component, read by their declared types."""
    try:
        model = component.load_config()
    except UserError:  # a check will say so
        return {}
    strange = [key for key in table.values if key not in fields_by_key(model)]
    return read_model(table.without(*strange), model)


def _checks(
    registry: Registry,
    record: PluginRecord,
    components: Iterable[Component],
    options: Mapping[Component, Mapping[str, object]],
) -> Iterator[Check]:
    broken = False
    for check in check_plugin(record):
        broken = broken or (check.problem is not None and check.name.endswith(("loads", ": config", ": factory")))
        yield check
    if broken:  # what cannot be made cannot be tried
        return
    from agents_core.testing.conformance.by_kind import check_component

    for component in components:
        yield from check_component(component, registry, options[component])


def checks_document(checks: Iterable[Check]) -> list[dict[str, str | None]]:
    """Checks as JSON."""
    return [{"name": check.name, "problem": check.problem, "skipped": check.skipped} for check in checks]


def print_checks(results: Results) -> int:
    """Print a line for each check, as it is made, and advice where it fails.

    Returns:
        How many failed.
    """
    failed = 0
    for record, checks in results:
        click.echo(f"{record.label}: plugin '{record.name}'")
        for check in checks:
            if check.problem is not None:
                failed += 1
                click.echo(f"  FAIL  {check.name}: {check.problem}")
                if check.advice:
                    click.echo(indent(check.advice, "        "))
            elif check.skipped is not None:
                click.echo(f"  skip  {check.name}: {check.skipped}")
            else:
                click.echo(f"  ok    {check.name}")
    return failed
