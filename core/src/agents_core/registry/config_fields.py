"""A config model as rows for people: field, type, default, bounds, description."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents_core.options import ConfigModel

Schema = Mapping[str, Any]

_TYPES = {"string": "text", "object": "mapping"}
_BOUNDS = {
    "minimum": ">= {}",
    "exclusiveMinimum": "> {}",
    "maximum": "<= {}",
    "exclusiveMaximum": "< {}",
    "multipleOf": "multiple of {}",
    "minLength": "length >= {}",
    "maxLength": "length <= {}",
    "minItems": "length >= {}",
    "maxItems": "length <= {}",
    "pattern": "matches {}",
}


@dataclass(frozen=True, slots=True)
class ConfigField:
    """One key of a config section.

    Attributes:
        name: Dotted where it lies in a section of its own.
        default: As JSON; None where the key is required, or a section that its fields below describe.
        bounds: Such as `>= 1, <= 10`.
    """

    name: str
    type: str
    default: str | None
    is_required: bool
    bounds: str
    description: str | None


def config_fields(model: type[ConfigModel]) -> list[ConfigField]:
    """Every field of a config model, with those of nested sections below their section.

    Raises:
        pydantic.PydanticUserError: The model has no JSON schema.
    """
    schema = model.model_json_schema()
    # As the model writes them: a schedule is a number there, where the schema shows its parts.
    defaults = model.model_construct().model_dump(mode="json", warnings=False)
    return list(_fields(schema, schema.get("$defs", {}), defaults, ""))


def open_sections(model: type[ConfigModel]) -> list[str]:
    """The models, this one or nested ones, that let unknown keys through.

    A nested one may ask for any key with `extra="allow"`; dropping keys unseen is never right.
    """
    schema = model.model_json_schema()
    nested = [section for section in schema.get("$defs", {}).values() if "properties" in section]
    loose = [section for section in nested if "additionalProperties" not in section]
    if schema.get("additionalProperties") is not False:
        loose.insert(0, schema)
    return [section.get("title", "?") for section in loose]


def _fields(schema: Schema, definitions: Schema, defaults: Mapping[str, object], prefix: str) -> Iterator[ConfigField]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        default = defaults.get(name, field.get("default"))
        section = _section(field, definitions)
        is_open = section is not None and isinstance(default, Mapping)
        yield ConfigField(
            name=prefix + name,
            type=_type(field, definitions),
            default=None if name in required or is_open else json.dumps(default, ensure_ascii=False),
            is_required=name in required,
            bounds=", ".join(_bounds(field)),
            description=field.get("description"),
        )
        if section is not None:
            own = default if isinstance(default, Mapping) else {}
            yield from _fields(section, definitions, own, f"{prefix}{name}.")


def _resolve(schema: Schema, definitions: Schema) -> Schema:
    reference = schema.get("$ref")
    resolved: Schema = schema if reference is None else definitions[reference.rpartition("/")[2]]
    return resolved


def _section(field: Schema, definitions: Schema) -> Schema | None:
    """The nested model of a field that is a section, also where it may be null."""
    for option in field.get("anyOf", field.get("allOf", [field])):
        resolved = _resolve(option, definitions)
        if "properties" in resolved and not _is_schedule(resolved):
            return resolved
    return None


def _is_schedule(schema: Schema) -> bool:
    return schema.get("title") == "ScheduleModel"


def _type(schema: Schema, definitions: Schema) -> str:
    schema = _resolve(schema, definitions)
    if _is_schedule(schema):
        return "schedule"
    if "properties" in schema:
        return "section"
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    if "const" in schema:
        return json.dumps(schema["const"])
    options = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if options:
        return " | ".join(dict.fromkeys(_type(option, definitions) for option in options))
    if schema.get("type") == "array":
        items = schema.get("items")
        return f"list of {_type(items, definitions)}" if isinstance(items, Mapping) else "list"
    name: str = schema.get("type", "any")
    return _TYPES.get(name, name)


def _bounds(schema: Schema) -> list[str]:
    if _is_schedule(schema):
        return []
    own = [text.format(schema[key]) for key, text in _BOUNDS.items() if key in schema]
    options = [bound for option in schema.get("anyOf", ()) for bound in _bounds(option)]
    return list(dict.fromkeys([*own, *options]))
