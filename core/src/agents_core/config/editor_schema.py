"""The schema as editors need it: it takes whatever the loader takes, also where YAML readers differ."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agents_core.config.json_schema import BEHAVIOR, JsonSchema, compose
from agents_core.registry import Component

INTEGER = r"^[-+]?(0|[1-9][0-9]*(_[0-9]+)*)(\.0*)?([eE]\+?[0-9]+)?$"
NUMBER = r"^[-+]?((0|[1-9][0-9]*(_[0-9]+)*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$"
_NULLABLE = (BEHAVIOR, "trainer.", "reward-signal.")


def export(components: Iterable[Component], problems: list[str]) -> JsonSchema:
    """The JSON Schema (Draft 2020-12) of experiment files over these components.

    Numbers may be texts that read as one, since YAML 1.1 takes `3e-4` and YAML 1.2 takes `100_000` for text.
    In behaviors everything may be null: that removes what `"*"` sets.
    """
    schema = compose(components, problems)
    behavior = schema["$defs"][BEHAVIOR]["properties"]
    behavior["reward_signals"] = _with_nullable_entries(behavior["reward_signals"])
    for name, section in schema["$defs"].items():
        if name.startswith(_NULLABLE):
            section["properties"] = {key: _or_null(inner) for key, inner in section["properties"].items()}
    exported = _with_numerals(schema)
    assert isinstance(exported, dict)
    return exported


def _with_nullable_entries(schema: JsonSchema) -> JsonSchema:
    """A mapping whose entries may be null too."""
    changed = dict(schema)
    for word in ("properties", "patternProperties"):
        if word in changed:
            changed[word] = {key: _or_null(inner) for key, inner in changed[word].items()}
    return changed


def _or_null(schema: JsonSchema) -> JsonSchema:
    outer: JsonSchema = {key: schema[key] for key in ("title", "description", "default") if key in schema}
    inner = {key: value for key, value in schema.items() if key not in outer}
    if set(inner) == {"anyOf"}:
        return {**outer, "anyOf": [*inner["anyOf"], {"type": "null"}]}
    return {**outer, "anyOf": [inner, {"type": "null"}]}


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
