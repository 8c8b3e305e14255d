"""Reads scalars by the declared type of their field, before pydantic sees them.

A YAML reader cannot know that `3e-4` is a number, `1e6` a whole one and `no` a word; the field does.
"""

from __future__ import annotations

import enum
import math
import types
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import PurePath
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from agents_core.config.document import Items, Node, Scalar, Table, is_removed, number, plain

_SWITCHES = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
_LARGEST_EXPONENT = 30


class _Refused:
    """Stands for a value that pydantic would take although the field's type does not allow it."""

    def __repr__(self) -> str:
        return "<refused>"


REFUSED = _Refused()


def read_model(table: Table, model: type[BaseModel]) -> dict[str, object]:
    """The values of a model's section, each read by the type of its field.

    A value that was removed by `null` is left out where its field does not take None.
    """
    fields = fields_by_key(model)
    values: dict[str, object] = {}
    for key, node in table.values.items():
        if key not in fields:
            values[key] = plain(node)
        elif not is_removed(node) or accepts_none(fields[key].annotation):
            values[key] = read(node, fields[key].annotation)
    return values


def fields_by_key(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """A model's fields under the names that experiment files use: the alias, where there is one."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def accepts_none(annotation: object) -> bool:
    """Whether None is a value of the type."""
    return any(member in (None, type(None), Any, object) for member in _members(annotation))


def read(node: Node, annotation: object) -> object:
    """A node as a value for a field of this type; what does not fit is left for pydantic to refuse."""
    members = _members(annotation)
    if isinstance(node, Scalar):
        return _read_scalar(node, members)
    if isinstance(node, Items):
        return _read_items(node, members)
    return _read_table(node, members)


def _members(annotation: object) -> tuple[object, ...]:
    """The alternatives of a type, without `Annotated`, aliases and bounds around them."""
    if hasattr(annotation, "__value__"):  # `type X = ...`
        return _members(annotation.__value__)
    if isinstance(annotation, TypeVar):
        return (Any,)
    origin = get_origin(annotation)
    if origin is Annotated:
        return _members(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return tuple(inner for member in get_args(annotation) for inner in _members(member))
    return (annotation,)


def _read_scalar(scalar: Scalar, members: tuple[object, ...]) -> object:
    value, text = scalar.value, scalar.text
    if value is None or any(member in (Any, object) for member in members):
        return value
    for choice in _choices(members):
        if value == choice and type(value) is type(choice):
            return choice
        if text is not None and text == choice:
            return choice
    if isinstance(value, bool) and bool in members:
        return value
    amount = _amount(scalar)
    if amount is not None:
        if int in members and (whole := _whole(scalar, amount)) is not None:
            return whole
        if float in members:
            return float(amount)
    if any(member is str or _is_path(member) for member in members):
        return value if text is None else text
    if bool in members and text is not None and text.lower() in _SWITCHES:
        return _SWITCHES[text.lower()]
    return REFUSED if _is_misread(value, members) else value


def _choices(members: tuple[object, ...]) -> list[object]:
    found: list[object] = []
    for member in members:
        if get_origin(member) is Literal:
            found += get_args(member)
        elif isinstance(member, type) and issubclass(member, enum.Enum):
            found += [item.value for item in member]
    return found


def _is_path(member: object) -> bool:
    return isinstance(member, type) and issubclass(member, PurePath)


def _amount(scalar: Scalar) -> int | float | None:
    if isinstance(scalar.value, bool):
        return None
    if isinstance(scalar.value, int | float):
        return scalar.value
    return None if scalar.text is None else number(scalar.text)


def _whole(scalar: Scalar, amount: int | float) -> int | None:
    """The whole number that an amount is, exactly; None if it has a fraction or is absurdly large."""
    if isinstance(amount, int):
        return amount
    if not math.isfinite(amount):
        return None
    exact = Decimal(amount if scalar.text is None else scalar.text.replace("_", "").lstrip("+"))
    if exact.adjusted() > _LARGEST_EXPONENT or exact != exact.to_integral_value():
        return None
    return int(exact)


def _is_misread(value: object, members: tuple[object, ...]) -> bool:
    """Whether pydantic would make a number of a truth value or of text such as `010`, or a truth value of 1."""
    if not set(members) <= {bool, int, float, type(None), None}:
        return False
    wants_number = int in members or float in members
    return isinstance(value, bool | str) or not wants_number


def _read_items(items: Items, members: tuple[object, ...]) -> object:
    for member in members:
        origin, arguments = get_origin(member), get_args(member)
        if not arguments or not isinstance(origin, type) or not issubclass(origin, Sequence | set | frozenset):
            continue
        if origin is tuple and arguments[-1] is not Ellipsis:
            typed = [*arguments, *[Any] * (len(items.nodes) - len(arguments))]
            return [read(node, kind) for node, kind in zip(items.nodes, typed, strict=False)]
        return [read(node, arguments[0]) for node in items.nodes]
    return plain(items)


def _read_table(table: Table, members: tuple[object, ...]) -> object:
    models = [member for member in members if isinstance(member, type) and issubclass(member, BaseModel)]
    if models:
        # Of several models, the one that knows most of the keys is meant.
        return read_model(table, max(models, key=lambda model: len(fields_by_key(model).keys() & table.values.keys())))
    for member in members:
        origin, arguments = get_origin(member), get_args(member)
        if isinstance(origin, type) and issubclass(origin, Mapping) and len(arguments) == 2:
            kept = {key: node for key, node in table.values.items() if not is_removed(node)}
            return {key: read(node, arguments[1]) for key, node in kept.items()}
    return plain(table)
