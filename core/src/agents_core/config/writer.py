"""Plain values to YAML text that this project, YAML 1.1 and YAML 1.2 readers understand alike."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

Comment = Callable[[tuple[str, ...], object], str]

_PLAIN = re.compile(r"[A-Za-z_/](?:[A-Za-z0-9_./+ -]*[A-Za-z0-9_./+-])?")
_NOT_TEXT = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
"""Words that YAML 1.1 or 1.2 takes for truth values or nothing."""
_INDENT = "  "


def to_yaml(values: Mapping[str, object], comment: Comment = lambda _path, _value: "") -> str:
    """A mapping as block-style YAML.

    Args:
        comment: What to write behind a value, given the keys that lead to it and the value; empty for nothing.
    """
    return "\n".join(_table(values, (), comment)) + "\n"


def _table(values: Mapping[str, object], path: tuple[str, ...], comment: Comment) -> list[str]:
    lines = []
    for key, value in values.items():
        here = (*path, key)
        start = f"{_INDENT * len(path)}{scalar(key)}:"
        note = comment(here, value)
        behind = f"  # {' '.join(note.split())}" if note else ""
        if isinstance(value, Mapping) and value:
            lines += [start + behind, *_table(value, here, comment)]
        else:
            lines.append(f"{start} {flow(value)}{behind}")
    return lines


def flow(value: object) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(str(key))}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(flow(inner) for inner in value) + "]"
    return scalar(value)


def scalar(value: object) -> str:
    """A single value; text without quotes only where every reader takes it for text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, int):
        return str(value)
    text = str(value)
    return text if _is_plain_text(text) else _quoted(text)


def _float(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    # YAML 1.1 reads 1e-05 as text, but not 1.0e-05.
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _is_plain_text(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None and ": " not in text and text.lower() not in _NOT_TEXT


def _quoted(text: str) -> str:
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character == "\n":
        return "\\n"
    if character == "\t":
        return "\\t"
    # What is not printable here may not stand in YAML as it is.
    if character.isprintable() and character != "\ufeff":
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
