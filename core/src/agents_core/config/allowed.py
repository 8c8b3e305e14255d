"""What a JSON schema allows, in words: for messages, `config init` and tables of options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "string": "text",
    "null": "null",
    "array": "a list",
    "object": "a section",
}


def in_words(schema: Schema, root: Schema) -> str:
    """What a field takes, such as `a whole number from 1 to 8192`.

    Args:
        schema: Of the field.
        root: The schema whose `$defs` it refers to.
    """
    alternatives = [_one(branch, root) for branch in branches(schema, root)]
    return " or ".join(dict.fromkeys(word for word in alternatives if word)) or "something else"


def branches(schema: Schema, root: Schema) -> Iterator[Schema]:
    """The alternatives of a schema, references followed."""
    if "$ref" in schema:
        yield from branches(root.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {}), root)
        return
    nested = [part for word in ("anyOf", "oneOf", "allOf") for part in schema.get(word, ())]
    if not nested:
        yield schema
    for part in nested:
        yield from branches(part, root)


def _one(schema: Schema, root: Schema) -> str:
    if "const" in schema:
        return show(schema["const"])
    if "enum" in schema:
        return one_of(schema["enum"])
    kind = schema.get("type")
    if kind in ("integer", "number"):
        return _TYPES[kind] + _bounds(schema)
    if kind == "string":
        return _text(schema)
    if kind == "array":
        return _list(schema, root)
    if kind == "object" and schema.get("properties"):
        return f"a section with {', '.join(schema['properties'])}"
    return _TYPES.get(str(kind), "")


def _bounds(schema: Schema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if low is not None and high is not None:
        return f" from {low:,} to {high:,}".replace(",", "_")
    lower = f"at least {low:_}" if low is not None else f"greater than {above:_}" if above is not None else ""
    upper = f"at most {high:_}" if high is not None else f"less than {below:_}" if below is not None else ""
    multiple = f"a multiple of {schema['multipleOf']:_}" if "multipleOf" in schema else ""
    parts = [part for part in (lower, upper, multiple) if part]
    if not parts:
        return ""
    # `a number greater than 0`, but `a whole number of at least 1`
    return (" " if parts[0].startswith(("greater", "less")) else " of ") + " and ".join(parts)


def _text(schema: Schema) -> str:
    word = "a path" if "path" in str(schema.get("format")) else "text"
    if "pattern" in schema:
        word += f" that matches {schema['pattern']}"
    if schema.get("minLength"):
        word += f" of at least {schema['minLength']} character" + ("s" if schema["minLength"] > 1 else "")
    if "maxLength" in schema:
        word += f" of at most {schema['maxLength']} characters"
    return word


def _list(schema: Schema, root: Schema) -> str:
    word = "a list"
    if schema.get("minItems") and schema.get("minItems") == schema.get("maxItems"):
        word += f" of {schema['minItems']} values"
    elif schema.get("minItems"):
        word += f" of at least {schema['minItems']}"
    elif "maxItems" in schema:
        word += f" of at most {schema['maxItems']}"
    if "prefixItems" in schema:
        return f"{word}: {', '.join(in_words(item, root) for item in schema['prefixItems'])}"
    if schema.get("items"):
        return f"{word}, each {in_words(schema['items'], root)}"
    return word


def one_of(values: Iterable[object]) -> str:
    """`one of 'a', 'b'`; a single value alone."""
    shown = [show(value) for value in values]
    return shown[0] if len(shown) == 1 else f"one of {', '.join(shown)}"


def show(value: object) -> str:
    """A value as it stands in a message: text in quotes, the rest as YAML writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}'" if isinstance(value, str) else str(value)


def at_path(schema: Schema, root: Schema, path: Iterable[str | int]) -> Schema | None:
    """The schema of what lies under some keys and list indices; None where nothing is declared."""
    found: Schema | None = schema
    for step in path:
        if found is None:
            return None
        options = [inner for branch in branches(found, root) if (inner := _step(branch, step)) is not None]
        found = None if not options else options[0] if len(options) == 1 else {"anyOf": options}
    return found


def _step(schema: Schema, step: str | int) -> Schema | None:
    if isinstance(step, int):
        prefix = schema.get("prefixItems", ())
        inner = prefix[step] if step < len(prefix) else schema.get("items")
    else:
        inner = schema.get("properties", {}).get(step, schema.get("additionalProperties"))
    return inner if isinstance(inner, Mapping) else None


def known_keys(schema: Schema, root: Schema) -> list[str]:
    """Keys that a section may have."""
    return list(dict.fromkeys(key for branch in branches(schema, root) for key in branch.get("properties", ())))
