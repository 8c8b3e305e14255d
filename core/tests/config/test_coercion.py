"""Scalars are read by the declared type of their field, not by what a YAML reader takes them for."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from agents_core.config.coercion import REFUSED, read
from agents_core.config.document import Position, from_python
from agents_core.config.reader import read_text
from agents_core.options import ConfigModel, DataPath
from pydantic import Field


class Speed(enum.Enum):
    FAST = "fast"
    ONE = 1


class Inner(ConfigModel):
    name: str = ""
    count: int = 0


class Other(ConfigModel):
    rate: float = 0
    word: str = ""


def typed(text: str, annotation: object) -> object:
    return read(read_text(text, "f"), annotation)


CASES: list[tuple[str, object, object]] = [
    # whole numbers
    ("1e6", int, 1_000_000),
    ("1.0e7", int, 10_000_000),
    ("100_000", int, 100_000),
    ("3.0", int, 3),
    ("9007199254740993e0", int, 9007199254740993),
    ("'5e5'", int, 500_000),
    ("1.5", int, 1.5),  # left for pydantic to refuse
    ("010", int, REFUSED),
    ("true", int, REFUSED),
    ("' 5'", int, REFUSED),
    ("1e40", int, 1e40),
    # numbers
    ("3e-4", float, 3e-4),
    ("5", float, 5.0),
    ("'3e-4'", float, 3e-4),
    ("yes", float, REFUSED),
    # truth values
    ("true", bool, True),
    ("no", bool, False),
    ("On", bool, True),
    ("0", bool, REFUSED),
    ("maybe", bool, REFUSED),
    # text
    ("no", str, "no"),
    ("off", str, "off"),
    ("010", str, "010"),
    ("1:30", str, "1:30"),
    ("1e6", str, "1e6"),
    ("true", str, "true"),
    ("null", str, None),
    ("null", str | None, None),
    ("'null'", str | None, "null"),
    ("no", Path, "no"),
    # alternatives
    ("null", int | None, None),
    ("1e2", int | None, 100),
    ("5", int | str, 5),
    ("five", int | str, "five"),
    ("no", bool | str, "no"),
    ("auto", float | Literal["auto"], "auto"),
    ("1", float | Literal["auto"], 1.0),
    ("2", Literal[1, 2], 2),
    ("2", Literal["1", "2"], "2"),
    ("on", Literal["on", "off"], "on"),
    ("1", Speed, 1),
    ("fast", Speed, "fast"),
    ("1e3", Annotated[int, Field(ge=1)] | None, 1000),
    # containers
    ("[1e2, 2]", list[int], [100, 2]),
    ("[no, 010]", tuple[str, ...], ["no", "010"]),
    ("[1, 1e0, no]", tuple[str, float, str], ["1", 1.0, "no"]),
    ("[1, 2, 3]", tuple[str], ["1", 2, 3]),
    ("[1, no]", Sequence[str], ["1", "no"]),
    ("{a: 1e1}", dict[str, int], {"a": 10}),
    ("{a: no, b: 1e1, c: 3}", dict[str, Any], {"a": "no", "b": 10.0, "c": 3}),
    ("[no, 3]", Any, ["no", 3]),
    ("3", list[int], 3),
    ("[a.demo, 010]", DataPath | list[DataPath], ["a.demo", "010"]),
    # sections
    ("{name: no, count: 1e1}", Inner, {"name": "no", "count": 10}),
    ("{name: 1, oops: 1e1}", Inner, {"name": "1", "oops": 10.0}),
    ("{rate: 1, word: 1}", Inner | Other, {"rate": 1.0, "word": "1"}),
    ("[{name: 1}]", list[Inner], [{"name": "1"}]),
]


@pytest.mark.parametrize(("text", "annotation", "expected"), CASES)
def test_a_value_is_read_by_its_declared_type(text: str, annotation: object, expected: object) -> None:
    value = typed(text, annotation)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [
        (1e6, int, 1_000_000),
        ("1e6", int, 1_000_000),
        ("3e-4", float, 3e-4),
        ("no", bool, False),
        (True, int, REFUSED),
        (5, str, 5),  # a number is no text, and Python has kept no spelling of it
        (Path("a") / "b", str, str(Path("a") / "b")),
        ((1, 2), list[int], [1, 2]),
    ],
)
def test_values_of_a_python_mapping_are_read_the_same_way(value: object, annotation: object, expected: object) -> None:
    assert read(from_python(value, Position("experiment")), annotation) == expected


def test_numbers_of_numpy_are_numbers() -> None:
    import numpy as np

    tree = from_python({"a": np.int64(3), "b": np.float32(0.5)}, Position("experiment"))
    assert read(tree, dict[str, Any]) == {"a": 3, "b": 0.5}


def test_a_mapping_with_other_keys_than_text_is_refused() -> None:
    with pytest.raises(TypeError, match="the key 3 is no text"):
        from_python({3: 1}, Position("experiment"))


def test_a_mapping_that_holds_itself_is_refused() -> None:
    endless: dict[str, object] = {}
    endless["again"] = endless
    with pytest.raises(TypeError, match="nested deeper"):
        from_python(endless, Position("experiment"))
