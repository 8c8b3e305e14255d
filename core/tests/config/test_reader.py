"""YAML text becomes a tree with positions, whatever it holds, and nothing in it is ever run."""

from __future__ import annotations

import pytest
from agents_core.config.document import MAX_DEPTH, Items, Position, Scalar, Table, natural, plain
from agents_core.config.errors import ConfigError
from agents_core.config.reader import MAX_VALUES, read_text


def values(text: str) -> object:
    return plain(read_text(text, "f"))


def mistakes(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read_text(text, "f")
    return [str(mistake) for mistake in caught.value.mistakes]


def test_every_key_and_value_knows_its_line_and_column() -> None:
    tree = read_text("a: 1\nb:\n  - x\n  - {c: y}\n", "f")
    assert isinstance(tree, Table)
    assert tree.keys == {"a": Position("f", 1, 1), "b": Position("f", 2, 1)}
    assert tree.values["a"].position == Position("f", 1, 4)
    items = tree.values["b"]
    assert isinstance(items, Items)
    inner = items.nodes[1]
    assert isinstance(inner, Table)
    assert (inner.position, inner.keys["c"]) == (Position("f", 4, 5), Position("f", 4, 6))
    assert inner.values["c"].position == Position("f", 4, 9)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3e-4", 3e-4),
        ("1e6", 1e6),
        ("1.0e7", 1e7),
        ("5E5", 5e5),
        ("100_000", 100_000),
        ("-1_000.5", -1000.5),
        (".5", 0.5),
        ("-.inf", float("-inf")),
        ("0", 0),
        ("true", True),
        ("null", None),
        ("~", None),
        ("no", "no"),
        ("off", "off"),
        ("010", "010"),
        ("1:30", "1:30"),
        ("1_", "1_"),
        ("_1", "_1"),
        ("0x1F", "0x1F"),
        ("1e", "1e"),
        ("2000000F", "2000000F"),
        ("2001-01-01", "2001-01-01"),
    ],
)
def test_plain_scalars_are_read_as_in_yaml_1_2_with_the_numbers_that_people_write(text: str, value: object) -> None:
    assert natural(text) == value
    assert type(natural(text)) is type(value)


def test_quoted_scalars_are_text() -> None:
    assert values('["1", \'true\', "null"]') == ["1", "true", "null"]
    assert values("a: |\n  1e6\n") == {"a": "1e6\n"}


def test_byte_order_mark_and_windows_line_ends_are_fine() -> None:
    assert values("\ufeffa: 1\r\nb:\r\n  c: 2\r\n") == {"a": 1, "b": {"c": 2}}


def test_aliases_stand_for_what_they_name() -> None:
    assert values("a: &x {b: 1}\nc: *x\nd: [*x, *x]\n") == {"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}, {"b": 1}]}


def test_merge_keys_fill_in_what_is_not_there() -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nc: {y: 3, <<: [*a, *b]}\nd:\n  <<: *b\n  x: 4\n"
    merged = values(text)
    assert isinstance(merged, dict)
    assert merged["c"] == {"y": 3, "x": 1, "z": 2}
    assert merged["d"] == {"x": 4, "z": 2}


def test_a_quoted_merge_key_is_a_key() -> None:
    assert values('"<<": 1') == {"<<": 1}


def test_merging_something_else_than_a_mapping_is_refused() -> None:
    assert mistakes("a: {<<: 3}") == [
        "f:1:5: a.<<: found a value; `<<` takes a mapping, an alias of one, or a list of them"
    ]


def test_every_duplicate_key_is_named_with_the_first() -> None:
    assert mistakes("a: 1\nb: {c: 1, c: 2}\na: 2\n") == [
        "f:2:11: b.c: this key is there twice; it stands in line 2 already",
        "f:3:1: a: this key is there twice; it stands in line 1 already",
    ]


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system", "!!str", "!custom", "!", "!!binary"])
def test_tags_are_refused_by_name(tag: str) -> None:
    (mistake,) = mistakes(f"a: {tag} [x]\n")
    assert mistake.startswith(f"f:1:4: a: found the tag {tag};")


def test_a_section_as_a_key_is_refused() -> None:
    assert mistakes("? [a]\n: 1\n") == ["f:1:3: found a list as a key; a key is a text"]


def test_nested_aliases_that_stand_for_billions_of_values_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    (mistake,) = mistakes("\n".join(lines))
    assert f"more than {MAX_VALUES} values" in mistake


def test_merge_keys_cannot_multiply_either() -> None:
    lines = ["a0: &a0 {x: [1, 2, 3, 4, 5, 6, 7, 8, 9]}"]
    lines += [f"a{n}: &a{n} {{" + ", ".join(f"k{k}: {{<<: *a{n - 1}}}" for k in range(9)) + "}" for n in range(1, 9)]
    (mistake,) = mistakes("\n".join(lines))
    assert f"more than {MAX_VALUES} values" in mistake


def test_an_alias_inside_what_it_stands_for_is_refused() -> None:
    assert mistakes("a: &a [*a]") == ["f:1:8: a: the alias *a stands inside what it stands for"]


def test_deep_nesting_is_refused_without_exhausting_the_stack() -> None:
    assert mistakes("[" * 5000) == [f"f:1:{MAX_DEPTH + 1}: nested deeper than {MAX_DEPTH} levels"]
    chain = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 200))
    assert f"nested deeper than {MAX_DEPTH} levels" in mistakes(chain)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:\n  b: 1\n\tc: 2\n", "f:3:1: a tab stands in the indentation; YAML allows only blanks there"),
        ("a: \x07", "f:1:4: the character U+0007 is not allowed in YAML"),
        ("a: b: c", "f:1:5: not YAML: mapping values are not allowed here"),
        ("a: 'x", "f:1:6: not YAML: while scanning a quoted scalar: found unexpected end of stream"),
    ],
)
def test_what_is_no_yaml_is_named_with_its_place(text: str, expected: str) -> None:
    assert mistakes(text) == [expected]


@pytest.mark.parametrize("text", ['a: "\\U99999999"', "%YAML " + "9" * 5000 + ".1\n---\na: 1"])
def test_numbers_out_of_range_in_escapes_and_directives_are_refused(text: str) -> None:
    assert mistakes(text)[0].startswith("f: not YAML: ")


def test_nothing_is_an_empty_scalar() -> None:
    for text in ("", "# only a comment\n", "---\n"):
        tree = read_text(text, "f")
        assert isinstance(tree, Scalar)
        assert tree.value is None
