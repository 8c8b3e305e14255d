"""What `agents plugins show` prints of one plugin."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from agents_core.cli.plugin_document import core_requirement, read_configuration
from agents_core.cli.tables import print_table
from agents_core.plugin import Kind, TrainerSpec
from agents_core.registry import Component, PluginRecord
from agents_core.registry.config_fields import ConfigField

_FIELD_HEADERS = ("field", "type", "default", "bounds", "description")

EXAMPLES: dict[Kind, str] = {
    "trainer": 'behaviors:\n  "*":\n    trainer: {{type: {name}{required}}}',
    "reward-signal": 'behaviors:\n  "*":\n    reward_signals:\n      {name}: {{{required}}}',
    "buffer": 'behaviors:\n  "*":\n    trainer:\n      buffer: {{type: {name}{required}}}',
    "environment": "environment: {{type: {name}{required}}}",
    "worker-pool": "environment:\n  workers: {{type: {name}{required}}}",
    "encoder": 'behaviors:\n  "*":\n    network:\n      encoders: {{OBSERVATION: {{type: {name}{required}}}}}',
    "stats-writer": "stats:\n  {name}: {{{required}}}",
}
"""Where a component of a kind stands in an experiment file."""


def print_page(record: PluginRecord, components: Sequence[Component]) -> None:
    """Print a plugin's origin and the config table and minimal YAML of each component."""
    click.echo(f"{record.label}: plugin '{record.name}', {record.status}")
    for title, text in _facts(record):
        click.echo(f"  {title:<12}{text}")
    for component in components:
        click.echo(f"\n{component.title}: {component.spec.summary}")
        _print_component(component)
    for command in record.commands:
        click.echo(f"\n{command.title}: {command.spec.help}")


def _facts(record: PluginRecord) -> list[tuple[str, str]]:
    metadata = record.metadata
    facts = [
        ("reason", record.reason),
        ("summary", metadata.summary if metadata else None),
        ("module", _module_line(record)),
        ("hooks", ", ".join(record.hooks)),
        ("licence", metadata.licence if metadata else None),
        *(("url", url) for url in (metadata.urls if metadata else ())),
        ("requires", core_requirement(record)),
    ]
    return [(title, text) for title, text in facts if text]


def _module_line(record: PluginRecord) -> str:
    """The module of the hooks, with its file if it was imported."""
    module = sys.modules.get(record.module)
    path = getattr(module, "__file__", None)
    if path is None:
        return record.entry_point
    return f"{record.module} ({Path(path)})"


def _print_component(component: Component) -> None:
    click.echo(f"  {'name':<12}{component.qualified_name}")
    click.echo(f"  {'config':<12}{component.spec.config}")
    click.echo(f"  {'factory':<12}{component.spec.factory}")
    if component.spec.tags:
        click.echo(f"  {'tags':<12}{', '.join(component.spec.tags)}")
    if isinstance(component.spec, TrainerSpec) and component.spec.buffer is not None:
        default = component.spec.buffer
        click.echo(f"  {'buffer':<12}a section of the trainer's, {default} by default: agents plugins show {default}")
    configuration = read_configuration(component)
    if configuration["problem"] is not None:
        click.echo(f"  {'problem':<12}{configuration['problem']}")
        return
    fields = configuration["fields"]
    if fields:
        click.echo()
        print_table(_FIELD_HEADERS, [_field_row(field) for field in fields])
    example = EXAMPLES.get(component.kind)
    if example is not None:
        click.echo("\n" + example.format(name=component.name, required=_required(fields, component.kind)))


def _field_row(field: ConfigField) -> list[str]:
    default = "required" if field.is_required else field.default or ""
    return [field.name, field.type, default, field.bounds, field.description or ""]


def _required(fields: Sequence[ConfigField], kind: Kind) -> str:
    """The keys without a default, to be filled in; after `type: …` they follow a comma."""
    keys = ", ".join(f"{field.name}: <{field.type}>" for field in fields if field.is_required and "." not in field.name)
    return keys if not keys or kind in ("reward-signal", "stats-writer") else f", {keys}"
