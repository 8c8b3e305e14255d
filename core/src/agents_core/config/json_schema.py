"""The JSON Schema of experiment files, over everything that is installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from agents_core.config.models import GeneralConfig, InstancesConfig, ScopeConfig
from agents_core.errors import UserError
from agents_core.options import ConfigModel, NetworkConfig, write_schedule
from agents_core.plugin import Kind, TrainerSpec
from agents_core.registry import Component
from agents_core.schedules import Schedule

DIALECT = "https://json-schema.org/draft/2020-12/schema"
CONFIGURED: tuple[Kind, ...] = (
    "environment",
    "worker-pool",
    "trainer",
    "reward-signal",
    "buffer",
    "stats-writer",
    "encoder",
)
"""Kinds of component that have sections in an experiment."""

JsonSchema = dict[str, Any]

BEHAVIOR = "behavior"
"""Name of the definition of a behavior."""
_REFERENCE = "#/$defs/"


class _Generator(GenerateJsonSchema):
    """Writes schedules among the defaults as experiment files do."""

    def encode_default(self, dft: Any) -> Any:
        return write_schedule(dft) if isinstance(dft, Schedule) else super().encode_default(dft)


def compose(components: Iterable[Component], problems: list[str] | None = None) -> JsonSchema:
    """A schema whose component sections are those of the given components.

    Args:
        components: Of the kinds in `CONFIGURED`; others are left out.
        problems: Takes a line for each component whose model cannot be had; without it such a one raises.

    Raises:
        UserError: A component's model cannot be imported.
    """
    offered = [component for component in components if component.kind in CONFIGURED]
    models = dict(_load_models(offered, problems))
    core: tuple[type[ConfigModel], ...] = (GeneralConfig, InstancesConfig, ScopeConfig, NetworkConfig)
    distinct = list(dict.fromkeys((*core, *models.values())))
    references, whole = models_json_schema(
        [(model, "validation") for model in distinct],
        ref_template=_REFERENCE + "{model}",
        schema_generator=_Generator,
    )
    defs: dict[str, JsonSchema] = dict(whole["$defs"])

    def of(model: type[ConfigModel]) -> JsonSchema:
        return defs[references[model, "validation"]["$ref"].removeprefix(_REFERENCE)]

    sections = {component: _component_section(component, of(model)) for component, model in models.items()}
    general, instances, scope, network = (of(model) for model in core)
    network["properties"]["encoders"] = _chosen(_of_kind("encoder", sections))
    root = _root(general, instances, scope, sections)
    root["$defs"] |= _referenced(root, defs)
    return root


def _load_models(
    components: Iterable[Component], problems: list[str] | None
) -> Iterator[tuple[Component, type[ConfigModel]]]:
    for component in components:
        try:
            model = component.load_config()
            model.model_json_schema(schema_generator=_Generator)
        except UserError as error:
            if problems is None:
                raise
            problems.append(str(error))
        except PydanticInvalidForJsonSchema as error:
            if problems is None:
                raise UserError(f"{component.full_title} has no JSON schema: {error}") from error
            problems.append(f"{component.full_title} has no JSON schema: {error}")
        else:
            yield component, model


def _component_section(component: Component, model: JsonSchema) -> JsonSchema:
    names = [component.name, component.qualified_name]
    kind = {"enum": names, "description": f"{component.spec.summary} ({component.origin.label})"}
    properties = {"type": kind, **model.get("properties", {})}
    return {**model, "title": component.title, "description": component.spec.summary, "properties": properties}


def _key(component: Component) -> str:
    return f"{component.kind}.{component.qualified_name}"


def _root(
    general: JsonSchema, instances: JsonSchema, scope: JsonSchema, sections: Mapping[Component, JsonSchema]
) -> JsonSchema:
    """The schema of the whole file; the sections of components are definitions of their own."""
    pools = _any_of(_of_kind("worker-pool", sections))
    defs: dict[str, JsonSchema] = {}
    for component, section in sections.items():
        if component.kind == "environment":
            own = {**section["properties"], **instances["properties"], "workers": pools}
            section = {**section, "properties": own, "required": ["type", *section.get("required", ())]}
        elif component.kind in ("trainer", "reward-signal", "buffer"):
            # What a behavior lacks it may take over from "*" or the command line.
            section = {key: value for key, value in section.items() if key != "required"}
            if isinstance(component.spec, TrainerSpec) and component.spec.buffer is not None:
                chosen = _described(_any_of(_of_kind("buffer", sections)), "What it samples from.")
                section["properties"] = {**section["properties"], "buffer": chosen}
        defs[_key(component)] = section
    own_keys = {
        **scope["properties"],
        "trainer": _described(_any_of(_of_kind("trainer", sections)), "What learns."),
        "reward_signals": _named(_of_kind("reward-signal", sections), "Reward signals by name."),
    }
    defs[BEHAVIOR] = {"type": "object", "title": BEHAVIOR, "properties": own_keys, "additionalProperties": False}
    behavior = {"$ref": _REFERENCE + BEHAVIOR}
    properties = {
        "seed": general["properties"]["seed"],
        "environment": _described(_any_of(_of_kind("environment", sections)), "Where agents act."),
        "behaviors": {
            "type": "object",
            "description": 'How behaviors are trained, by name; "*" stands for every one.',
            "properties": {"*": behavior},
            "additionalProperties": behavior,
            "minProperties": 1,
        },
        "stats": _named(_of_kind("stats-writer", sections), "Where statistics go, by name."),
        **general["properties"],
    }
    return {
        "$schema": DIALECT,
        "title": "agents experiment",
        "description": "An experiment for `agents run`.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": defs,
    }


def _of_kind(kind: Kind, sections: Mapping[Component, JsonSchema]) -> list[Component]:
    return [component for component in sections if component.kind == kind]


def _any_of(components: list[Component]) -> JsonSchema:
    if not components:
        return {"type": "object"}
    references = [{"$ref": _REFERENCE + _key(component)} for component in components]
    return references[0] if len(references) == 1 else {"anyOf": references}


def _described(schema: JsonSchema, description: str) -> JsonSchema:
    return {"description": description, **schema}


def _named(components: list[Component], description: str) -> JsonSchema:
    """A mapping from component names, plain or qualified, to their sections; other names need a `type`."""
    properties: dict[str, list[Component]] = {}
    for component in components:
        properties.setdefault(component.name, []).append(component)
    typed = {**_any_of(components), "required": ["type"]}
    return {
        "type": "object",
        "description": description,
        "properties": {name: _any_of(same) for name, same in properties.items()},
        "patternProperties": {f"^[^:]+:{name}$": _any_of(same) for name, same in properties.items()},
        "additionalProperties": typed,
    }


def _chosen(components: list[Component]) -> JsonSchema:
    """A mapping from observation names to sections with a `type`."""
    return {
        "type": "object",
        "description": "Encoders by observation name; an observation that is not named has a default for its kind.",
        "additionalProperties": _any_of(components),
    }


def _referenced(root: JsonSchema, defs: Mapping[str, JsonSchema]) -> dict[str, JsonSchema]:
    """The definitions of models that something in the schema refers to."""
    found: dict[str, JsonSchema] = {}
    waiting: list[JsonSchema] = [root]
    while waiting:
        for name in _references(waiting.pop()):
            if name in defs and name not in found:
                found[name] = defs[name]
                waiting.append(defs[name])
    return found


def _references(node: object) -> Iterator[str]:
    if isinstance(node, Mapping):
        reference = node.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(_REFERENCE)
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)
