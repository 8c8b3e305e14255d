"""The schema as editors need it: it takes whatever the loader takes, also where YAML readers differ."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agents_core.config.json_schema import BEHAVIOR, JsonSchema, compose
from agents_core.registry import Component

INTEGER = r"^[-+]?(0|[1-9][0-9]*(_[0-9]+)*)(\.0*)?([eE]\+?[0-9]+)?$"
NUMBER = r"^[-+]?((0|[1-9][0-9]*(_[0-9]+)*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$"
_OPEN_BEHAVIOR = f"{BEHAVIOR} with local plugins"
_NULLABLE = (BEHAVIOR, "trainer.", "reward-signal.", "buffer.")


def export(components: Iterable[Component], problems: list[str]) -> JsonSchema:
    """The JSON Schema (Draft 2020-12) of experiment files over these components.

    Numbers may be texts that read as one, since YAML 1.1 takes `3e-4` and YAML 1.2 takes `100_000` for text.
    In behaviors everything may be null: that removes what `"*"` sets.
    """
    schema = compose(components, problems)
    _admit_local_plugins(schema)
    for name, section in schema["$defs"].items():
        if name.startswith(BEHAVIOR):
            section["properties"]["reward_signals"] = _with_nullable_entries(section["properties"]["reward_signals"])
        if name.startswith(_NULLABLE):
            section["properties"] = {key: _or_null(inner) for key, inner in section["properties"].items()}
    exported = _with_numerals(schema)
    assert isinstance(exported, dict)
    return exported


def _admit_local_plugins(schema: JsonSchema) -> None:
    """Let a file with `plugins:` name components that are not installed; any other file must name installed ones."""
    properties, defs = schema["properties"], schema["$defs"]
    schema["if"] = {"not": {"required": ["plugins"]}}
    schema["then"] = {"properties": {key: properties[key] for key in ("environment", "behaviors", "stats")}}
    own = defs[BEHAVIOR]["properties"]
    open_behavior = {
        **own,
        "trainer": _or_foreign(own["trainer"], "trainer", defs),
        "reward_signals": {**own["reward_signals"], "additionalProperties": {"type": "object"}},
    }
    defs[_OPEN_BEHAVIOR] = {**defs[BEHAVIOR], "properties": open_behavior}
    reference = {"$ref": f"#/$defs/{_OPEN_BEHAVIOR}"}
    properties |= {
        "environment": _or_foreign(properties["environment"], "environment", defs),
        "behaviors": {**properties["behaviors"], "properties": {"*": reference}, "additionalProperties": reference},
        "stats": {**properties["stats"], "additionalProperties": {"type": "object"}},
    }


def _or_foreign(schema: JsonSchema, kind: str, defs: JsonSchema) -> JsonSchema:
    """A section, or one whose `type` is none of the installed names."""
    sections = [section for name, section in defs.items() if name.startswith(f"{kind}.")]
    names = [name for section in sections for name in section["properties"]["type"]["enum"]]
    foreign = {"type": "object", "properties": {"type": {"type": "string", "not": {"enum": names}}}}
    outer, inner = _split(schema)
    return {**outer, "anyOf": [*inner.get("anyOf", [inner]), foreign]}


def _with_nullable_entries(schema: JsonSchema) -> JsonSchema:
    """A mapping whose entries may be null too."""
    changed = {**schema, "additionalProperties": _or_null(schema["additionalProperties"])}
    for word in ("properties", "patternProperties"):
        changed[word] = {key: _or_null(inner) for key, inner in schema[word].items()}
    return changed


def _or_null(schema: JsonSchema) -> JsonSchema:
    outer, inner = _split(schema)
    options = inner["anyOf"] if set(inner) == {"anyOf"} else [inner]
    return {**outer, "anyOf": [*options, {"type": "null"}]}


def _split(schema: JsonSchema) -> tuple[JsonSchema, JsonSchema]:
    """What a schema says for readers, and what it demands."""
    outer = {key: value for key, value in schema.items() if key in ("title", "description", "default")}
    return outer, {key: value for key, value in schema.items() if key not in outer}


def _with_numerals(node: Any) -> Any:
    if isinstance(node, list):
        return [_with_numerals(item) for item in node]
    if not isinstance(node, dict):
        return node
    changed = {key: value if key in ("default", "enum") else _with_numerals(value) for key, value in node.items()}
    pattern = {"integer": INTEGER, "number": NUMBER}.get(str(node.get("type")))
    if pattern is not None and "enum" not in node:
        changed |= {"type": [node["type"], "string"], "pattern": pattern}
    return changed
