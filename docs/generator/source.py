"""Python source as Markdown: classes and functions with their docstrings, without importing anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import dedent

_SECTION = re.compile(r"^(Attributes|Args|Returns|Raises):$", re.MULTILINE)
_ENTRY = re.compile(r"^    (?=\S)", re.MULTILINE)
_TITLES = {"Attributes": "Attribute", "Args": "Argument", "Raises": "Exception"}


class Module:
    """One source file."""

    def __init__(self, file: Path) -> None:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        self.summary = ast.get_docstring(tree) or ""
        self._classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}

    @property
    def classes(self) -> list[str]:
        """Public classes in the order in which they are written."""
        return [name for name in self._classes if not name.startswith("_")]

    @property
    def functions(self) -> list[str]:
        """Public functions in the order in which they are written."""
        return [name for name in self._functions if not name.startswith("_")]

    def document(self, name: str, level: int = 2) -> str:
        """A class with its fields and methods, or a function."""
        heading = "#" * level
        if name in self._functions:
            return "\n".join(_function(self._functions[name], level))
        node = self._classes[name]
        parts = [f"{heading} {name}", ""]
        bases = [ast.unparse(base) for base in node.bases]
        signature = f"class {name}({', '.join(bases)})" if bases else f"class {name}"
        parts += ["```python", signature, "```", ""]
        fields = dict(_fields(node))
        parts += [_text(ast.get_docstring(node) or "", {field: type_ for field, (type_, _) in fields.items()}), ""]
        for field, (type_, explanation) in fields.items():
            if explanation:
                parts += [f"{heading}# {field}", "", f"`{field}: {type_}`", "", _text(explanation), ""]
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                parts += _function(method, level + 1)
        return "\n".join(parts)


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, tuple[str, str]]]:
    """Type and explanation, a text right below it, of each annotated field."""
    for statement, following in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            type_ = ast.unparse(statement.annotation)
            if statement.value is not None:
                type_ += f" = {ast.unparse(statement.value)}"
            explanation = ""
            if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                explanation = dedent("    " + str(following.value.value)).strip()
            yield statement.target.id, (type_, explanation)


def _function(node: ast.FunctionDef, level: int) -> list[str]:
    decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
    remarks = []
    if "abstractmethod" in decorators:
        remarks.append("to be implemented")
    if "property" in decorators:
        remarks.append("a property")
    parts = ["#" * level + " " + node.name, "", "```python", _signature(node), "```", ""]
    if remarks:
        parts += [f"*{', '.join(remarks).capitalize()}.*", ""]
    return [*parts, _text(ast.get_docstring(node) or ""), ""]


def _signature(node: ast.FunctionDef) -> str:
    """The head of a function; a long one with an argument on each line."""
    arguments = list(_arguments(node.args))
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"def {node.name}({', '.join(arguments)}){returns}"
    if len(line) < 90:
        return line
    return f"def {node.name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){returns}"


def _arguments(arguments: ast.arguments) -> Iterator[str]:
    plain = [*arguments.posonlyargs, *arguments.args]
    without_default = len(plain) - len(arguments.defaults)
    yield from map(_argument, plain, [*[None] * without_default, *arguments.defaults])
    if arguments.vararg:
        yield f"*{_argument(arguments.vararg, None)}"
    elif arguments.kwonlyargs:
        yield "*"
    yield from map(_argument, arguments.kwonlyargs, arguments.kw_defaults)


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    text = argument.arg + (f": {ast.unparse(argument.annotation)}" if argument.annotation else "")
    return text if default is None else f"{text} = {ast.unparse(default)}"


def _text(docstring: str, types: dict[str, str] | None = None) -> str:
    """A docstring with its sections as tables."""
    pieces = _SECTION.split(docstring)
    parts = [pieces[0].strip()]
    for title, body in zip(pieces[1::2], pieces[2::2], strict=True):
        # What follows the section without being indented is text again.
        section, _, rest = re.sub(r"\n\n(?=\S)", "\n\f", body, count=1).partition("\f")
        if title == "Returns":
            parts.append(f"**Returns:** {_one_line(section)}")
        else:
            parts.append(_table(title, list(_entries(section)), types or {}))
        parts.append(rest.strip())
    return "\n\n".join(part for part in parts if part)


def _entries(section: str) -> Iterator[tuple[str, str]]:
    for entry in _ENTRY.split(section.strip("\n"))[1:]:
        name, _, meaning = entry.partition(":")
        yield name.strip(), _one_line(meaning)


def _table(title: str, entries: Iterable[tuple[str, str]], types: dict[str, str]) -> str:
    if not types:
        lines = [f"| {_TITLES[title]} | Meaning |", "| --- | --- |"]
        return "\n".join([*lines, *(f"| `{name}` | {_cell(meaning)} |" for name, meaning in entries)])
    lines = [f"| {_TITLES[title]} | Type | Meaning |", "| --- | --- | --- |"]
    rows = []
    for name, meaning in entries:
        of = [types.get(part.strip(), "") for part in name.split(",")]
        type_ = next((text for text in of if text), "")
        rows.append(f"| `{name}` | {f'`{type_}`' if type_ else ''} | {_cell(meaning)} |")
    return "\n".join([*lines, *rows])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
