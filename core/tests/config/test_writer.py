"""What is written as YAML is read back the same, by us and by other readers."""

from __future__ import annotations

import math

import pytest
import yaml
from agents_core.config.document import natural, plain
from agents_core.config.reader import read_text
from agents_core.config.writer import scalar, to_yaml
from hypothesis import given
from hypothesis import strategies as st

# Everything but surrogates, which no UTF-8 file can hold.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    [
        "no",
        "off",
        "y",
        "010",
        "1e6",
        "3e-4",
        "1:30",
        "null",
        "~",
        "",
        "true",
        "<<",
        "=",
        "2001-01-01",
        "a: b",
        "a #b",
        "-",
    ]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=10
)


@given(st.dictionaries(TEXT, VALUES, max_size=4))
def test_any_mapping_survives_writing_and_reading(values: dict[str, object]) -> None:
    assert plain(read_text(to_yaml(values), "f")) == values if values else True


@given(TEXT)
def test_other_readers_take_text_for_text_too(text: str) -> None:
    assert yaml.safe_load(f"- {scalar(text)}") == [text]


@given(st.floats(allow_nan=False))
def test_other_readers_take_numbers_for_the_same_numbers(value: float) -> None:
    assert yaml.safe_load(scalar(value)) == value
    assert natural(scalar(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1e-5, "1.0e-05"),
        (0.1, "0.1"),
        (1e16, "1.0e+16"),
        (math.inf, ".inf"),
        ("CartPole-v1", "CartPole-v1"),
        ("module:Id-v0", '"module:Id-v0"'),
        ("/tmp/a b", "/tmp/a b"),
        ("no", '"no"'),
        ("*", '"*"'),
        ("1e6", '"1e6"'),
        ('a "b"\n', '"a \\"b\\"\\n"'),
    ],
)
def test_scalars_look_as_people_write_them(value: object, text: str) -> None:
    assert scalar(value) == text


def test_sections_are_blocks_and_lists_stay_on_their_line() -> None:
    values = {"a": {"b": 1, "c": {}}, "d": [1, {"e": "x"}]}
    text = to_yaml(values, lambda path, value: ".".join(path) if isinstance(value, int) else "")
    assert text == "a:\n  b: 1  # a.b\n  c: {}\nd: [1, {e: x}]\n"
