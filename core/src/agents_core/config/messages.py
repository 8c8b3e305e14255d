"""Turns pydantic's errors about a section into mistakes with positions, in our words."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema

from agents_core.config.allowed import Schema, at_path, branches, in_words, known_keys
from agents_core.config.document import Items, Node, Position, Scalar, Table, child
from agents_core.config.errors import KeyPath, Mistake

_LONGEST_VALUE = 200


@dataclass(frozen=True, slots=True)
class Place:
    """A section of the experiment that one model describes.

    Attributes:
        path: Keys from the top to it.
        position: Of its key.
        owner: Which plugin's component it belongs to, such as `trainer 'ppo' of agents-ppo 0.1.0`; None: core.
        other_keys: Keys that it may have beside those of its model; `a.b` is the key `b` of its section `a`.
        elsewhere: Full paths of keys that belong into a neighbouring section.
    """

    path: KeyPath
    position: Position
    owner: str | None = None
    other_keys: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)


def found(node: Node) -> str:
    """What was written, in a sentence."""
    if isinstance(node, Table):
        return "a section"
    if isinstance(node, Items):
        return "a list"
    if node.value is None:
        return "nothing"
    text = repr(node.value) if node.text is None else node.text
    if isinstance(node.value, bool):
        text = str(node.value).lower()
    text = text if text.isprintable() else ascii(text)[1:-1]
    text = text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"
    return f"'{text}'" if isinstance(node.value, str) else text


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the known name that was probably meant, else nothing."""
    by_lower = {other.lower(): other for other in known}
    match = difflib.get_close_matches(name.lower(), sorted(by_lower), n=1)
    return f"; did you mean '{by_lower[match[0]]}'?" if match else ""


def unknown_key(key: str, allowed: Sequence[str], place: Place) -> str:
    """The message for a key that its section does not have."""
    of = f" of {place.owner}" if place.owner else ""
    names = ", ".join(sorted(allowed)) if allowed else "none"
    hint = f"; did you mean '{place.elsewhere[key]}'?" if key in place.elsewhere else nearest(key, allowed)
    return f"unknown key; allowed keys{of}: {names}{hint}"


def translate(error: ValidationError, model: type[BaseModel], table: Table, place: Place) -> list[Mistake]:
    """Every mistake that pydantic found in a section, each at the value or key that is wrong.

    Args:
        table: What was written in the section.
    """
    schema = _schema(model)
    grouped: dict[tuple[str | int, ...], list[dict[str, Any]]] = {}
    for details in error.errors(include_url=False, include_input=False):
        steps = _steps(table, details["loc"], is_missing=details["type"] == "missing")
        grouped.setdefault(steps, []).append(dict(details))
    # Where one alternative of a union was meant, what is wrong inside it is said, not that the others do not fit.
    deepest = [steps for steps in grouped if not any(_is_inside(other, steps) for other in grouped)]
    return [_mistake(steps, grouped[steps], schema, table, place) for steps in deepest]


@functools.lru_cache(maxsize=64)
def _schema(model: type[BaseModel]) -> Schema:
    """The model's JSON schema, which says what each field takes; empty where pydantic cannot write it."""
    try:
        return model.model_json_schema()
    except PydanticInvalidForJsonSchema:
        return {}


def _is_inside(steps: tuple[str | int, ...], outer: tuple[str | int, ...]) -> bool:
    return len(steps) > len(outer) and steps[: len(outer)] == outer


def _steps(table: Table, location: tuple[int | str, ...], *, is_missing: bool) -> tuple[str | int, ...]:
    """A pydantic location as keys and indices of the tree, without the names of union members in between."""
    steps: list[str | int] = []
    node: Node | None = table
    for step in location:
        inner = child(node, step)
        if inner is not None:
            steps.append(step)
            node = inner
    if is_missing and steps[-1:] != [location[-1]]:
        steps.append(location[-1])
    return tuple(steps)


def _mistake(
    steps: tuple[str | int, ...], errors: list[dict[str, Any]], schema: Schema, table: Table, place: Place
) -> Mistake:
    path = place.path + tuple(str(step) for step in steps)
    node = _follow(table, steps)
    first = errors[0]
    suffix = f" ({place.owner})" if place.owner else ""
    if first["type"] == "extra_forbidden":
        inside = at_path(schema, schema, steps[:-1]) or {}
        section = ".".join(str(step) for step in steps[:-1])
        others = [key.rpartition(".") for key in place.other_keys]
        allowed = known_keys(inside, schema) + [key for outer, _, key in others if outer == section]
        return Mistake(_key_position(table, steps, place), path, unknown_key(str(steps[-1]), allowed, place))
    declared = at_path(schema, schema, steps) if steps else None
    words = in_words(declared, schema) if declared else None
    if node is None or first["type"] == "missing":
        expected = f"; expected {words}" if words else ""
        return Mistake(_key_position(table, steps[:-1], place), path, f"missing{expected}{suffix}")
    text = next((own for details in errors if (own := _own_words(details))), None)
    if text is not None and isinstance(node, Table):
        position, named = _named_value(node, text)
        return Mistake(position or _key_position(table, steps, place), path + named, text + suffix)
    position = _key_position(table, steps, place) if isinstance(node, Table) else node.position
    if text is not None or words is None:
        return Mistake(position, path, f"found {found(node)}; {text or first['msg']}{suffix}")
    expected = f"expected {words}{_near_choice(node, declared, schema)}"
    return Mistake(position, path, f"found {found(node)}, {expected}{suffix}")


def _own_words(details: dict[str, Any]) -> str | None:
    """The text of an exception that a model's own validator raised."""
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, Exception):
        return " ".join(str(cause).split()) or "not allowed"
    return None


def _follow(table: Table, steps: tuple[str | int, ...]) -> Node | None:
    node: Node | None = table
    for step in steps:
        node = child(node, step)
    return node


def _key_position(table: Table, steps: tuple[str | int, ...], place: Place) -> Position:
    """Where the key of a value was written; the value itself where it has no key of its own."""
    if not steps:
        return place.position
    parent = _follow(table, steps[:-1])
    if isinstance(parent, Table) and steps[-1] in parent.keys:
        return parent.keys[str(steps[-1])]
    node = _follow(table, steps)
    return node.position if node is not None else place.position


def _named_value(table: Table, text: str) -> tuple[Position | None, KeyPath]:
    """The first value of the section that a text about several of them names."""
    for word in re.findall(r"[A-Za-z_]\w*", text):
        if word in table.values:
            return table.values[word].position, (word,)
    return None, ()


def _near_choice(node: Node, schema: Schema | None, root: Schema) -> str:
    """The nearest of the allowed words, for a text that is none of them."""
    if not isinstance(node, Scalar) or node.text is None or schema is None:
        return ""
    choices = [
        choice
        for branch in branches(schema, root)
        for choice in [*branch.get("enum", ()), *([branch["const"]] if "const" in branch else [])]
        if isinstance(choice, str)
    ]
    return nearest(node.text, choices)
