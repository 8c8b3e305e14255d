"""Plugins and components as JSON documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import TypedDict

from agents_core.errors import UserError
from agents_core.plugin import Kind
from agents_core.registry import Component, PluginRecord
from agents_core.registry.config_fields import ConfigField, config_fields
from agents_core.registry.names import CORE_DISTRIBUTION, describe
from agents_core.registry.requirements import core_requirements, specifiers

Document = dict[str, object]


class Configuration(TypedDict):
    """The config table of a component, or why there is none."""

    fields: list[ConfigField]
    problem: str | None


def read_configuration(component: Component) -> Configuration:
    """Import a component's config model and list its fields; a model that fails must not hide the rest."""
    try:
        return {"fields": config_fields(component.load_config()), "problem": None}
    except UserError as error:
        return {"fields": [], "problem": str(error)}
    except Exception as error:  # a stranger's model, asked for its schema
        return {"fields": [], "problem": f"the schema of '{component.spec.config}' fails: {describe(error)}"}


def plugin_document(record: PluginRecord, kind: Kind | None = None) -> Document:
    """One plugin with what it offers, of one kind or all."""
    metadata = record.metadata
    return {
        "plugin": record.name,
        "distribution": record.distribution,
        "version": record.version,
        "entry_point": record.entry_point,
        "status": record.status,
        "reason": record.reason,
        "hooks": list(record.hooks),
        "summary": metadata.summary if metadata else None,
        "licence": metadata.licence if metadata else None,
        "urls": list(metadata.urls) if metadata else [],
        "core_requirement": core_requirement(record),
        "components": [
            component_document(component) for component in record.components if kind in (None, component.kind)
        ],
        "commands": [{"name": command.name, "help": command.spec.help} for command in record.commands],
    }


def core_requirement(record: PluginRecord) -> str | None:
    """What a distribution says of the core it needs; None where it says nothing."""
    try:
        requirements = core_requirements(record.metadata.requires) if record.metadata else []
    except Exception as error:  # packaging's InvalidRequirement, of a line that anybody wrote
        return describe(error)
    return ", ".join(f"{CORE_DISTRIBUTION}{specifiers(requirement)}" for requirement in requirements) or None


def component_document(component: Component) -> Document:
    """One component, without importing anything of it."""
    return {
        "name": component.name,
        "kind": component.kind,
        "qualified_name": component.qualified_name,
        "summary": component.spec.summary,
        "tags": list(component.spec.tags),
        "config": component.spec.config,
        "factory": component.spec.factory,
    }


def detailed_document(component: Component) -> Document:
    """One component with its config table."""
    configuration = read_configuration(component)
    return {
        **component_document(component),
        "fields": [asdict(field) for field in configuration["fields"]],
        "config_problem": configuration["problem"],
    }
