"""`agents plugins`: what is installed, what each plugin offers, and whether it is in order."""

from __future__ import annotations

import json
from typing import Any

import click

from agents_core.cli.options import plugin_options, report_bad_plugins
from agents_core.cli.plugin_document import detailed_document, plugin_document
from agents_core.cli.plugin_page import print_page
from agents_core.cli.tables import print_table
from agents_core.errors import UserError
from agents_core.plugin import Kind
from agents_core.registry import Component, PluginRecord, Registry
from agents_core.registry.lookup import matching
from agents_core.registry.names import words
from agents_core.registry.table import ALL_KINDS

_LIST_HEADERS = ("component", "kind", "plugin", "distribution", "status", "summary")


@click.group()
def plugins() -> None:
    """List, show and check installed plugins."""


@plugins.command("list")
@click.option("--kind", type=click.Choice(ALL_KINDS), help="Only components of this kind.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@plugin_options
def list_plugins(registry: Registry, kind: Kind | None, as_json: bool) -> None:
    """What is installed: components first, plugins that are not in order last, with the reason."""
    report_bad_plugins(registry.records)
    if as_json:
        documents = [plugin_document(record, kind) for record in registry.records]
        click.echo(json.dumps({"plugins": documents}, indent=2, ensure_ascii=False))
        return
    rows = [row for record in registry.records for row in _offers(record, kind)]
    rows += [_plugin_row(record, record.reason or "") for record in registry.records if not record.is_usable]
    print_table(_LIST_HEADERS, rows)


def _offers(record: PluginRecord, kind: Kind | None) -> list[list[str]]:
    """A row for each component and command; a plugin that only watches runs has one of its own."""
    rows = [
        [component.name, words(component.kind), *_source(record), component.spec.summary]
        for component in record.components
        if kind in (None, component.kind)
    ]
    if kind is None:
        rows += [[command.name, "command", *_source(record), command.spec.help] for command in record.commands]
        if record.is_usable and not rows:
            rows = [_plugin_row(record, ", ".join(record.hooks))]
    return rows


def _plugin_row(record: PluginRecord, summary: str) -> list[str]:
    return ["-", "-", *_source(record), summary]


def _source(record: PluginRecord) -> list[str]:
    return [record.name, record.label, record.status]


@plugins.command("show")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@plugin_options
def show_plugin(registry: Registry, name: str, as_json: bool) -> None:
    """Everything about a component, plugin or distribution: origin, hooks, config table, minimal YAML."""
    pages = [(record, _meant_components(record, name)) for record in registry.find_records(name)]
    if as_json:
        documents = [
            {**plugin_document(record), "components": [detailed_document(component) for component in components]}
            for record, components in pages
        ]
        click.echo(json.dumps({"plugins": documents}, indent=2, ensure_ascii=False))
        return
    for index, (record, components) in enumerate(pages):
        if index:
            click.echo("\n" + "-" * 40 + "\n")
        print_page(record, components)


def _meant_components(record: PluginRecord, name: str) -> list[Component]:
    """All components where the name is the plugin's or the distribution's, else those of the name."""
    if record.origin.is_called(name):
        return list(record.components)
    return matching(record.components, name)


@plugins.command("check")
@click.argument("name")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="An option of what is checked.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@plugin_options
def check_plugins(registry: Registry, name: str, settings: tuple[str, ...], as_json: bool) -> None:
    """Whether a plugin keeps to the rules: light imports, strict and described options, and the contract of its kind.

    NAME is a component, plugin or distribution, or a file such as my_signal.py. What it offers is made and run, by the
    checks of `agents_core.testing`. Exit code 2 if anything is not in order.
    """
    from agents_core.cli.plugin_checks import check_all, checks_document, find_checked, print_checks

    results = check_all(registry, find_checked(registry, name), name, settings)
    if as_json:
        documents: list[dict[str, Any]] = [
            {**plugin_document(record), "checks": checks_document(checks)} for record, checks in results
        ]
        failed = sum(check["problem"] is not None for document in documents for check in document["checks"])
        click.echo(json.dumps({"plugins": documents, "failed": failed}, indent=2, ensure_ascii=False))
    else:
        failed = print_checks(results)
    if failed:
        raise click.exceptions.Exit(UserError.exit_code)
