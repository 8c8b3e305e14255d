"""YAML text to a tree with positions, without running anything that the text says."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from agents_core.config.document import MAX_DEPTH, Items, Node, Position, Scalar, Table, natural
from agents_core.config.errors import ConfigError, Mistake

MAX_BYTES = 4 * 2**20
MAX_VALUES = 100_000
"""Values after aliases are expanded: a few lines of nested aliases can stand for billions."""


def read_file(path: Path) -> Node:
    """The tree of an experiment file; positions name it as it was given.

    Raises:
        ConfigError: It cannot be read, is not UTF-8 or is not YAML.
    """
    source = str(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _error(source, f"the file is larger than {MAX_BYTES // 2**20} MiB; this is no experiment file")
        data = path.read_bytes()
    except FileNotFoundError:
        raise _error(source, f"no such file: {path.absolute()}{_similar_file(path)}") from None
    except IsADirectoryError:
        raise _error(source, "this is a folder, not an experiment file") from None
    except OSError as error:
        raise _error(source, f"cannot be read: {error.strerror or error}") from None
    return read_text(_decode(data, source), source)


def _similar_file(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    names = [other.name for other in path.parent.iterdir() if other.suffix in (".yaml", ".yml")]
    near = difflib.get_close_matches(path.name, sorted(names), n=1)
    return f"; did you mean '{path.with_name(near[0])}'?" if near else ""


def _decode(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", errors="replace")
        position = _place(source, before, len(before))
        hint = "it looks like UTF-16; " if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        message = f"the byte 0x{data[error.start]:02X} is not UTF-8; {hint}save the file as UTF-8"
        raise ConfigError([Mistake(position, (), message)]) from None


def _place(source: str, text: str, index: int) -> Position:
    lines = text[:index].split("\n")
    return Position(source, len(lines), len(lines[-1]) + 1)


def _error(source: str, message: str) -> ConfigError:
    return ConfigError([Mistake(Position(source), (), message)])


def read_text(text: str, source: str, *, is_argument: bool = False) -> Node:
    """The tree of a YAML text; `is_argument`: positions name only the source, without line and column.

    Raises:
        ConfigError: It is not YAML, or holds duplicate keys or tags.
    """
    composer = _Composer(source, is_argument)
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        raise ConfigError([*composer.mistakes, _syntax_mistake(error, text, composer)]) from None
    except yaml.reader.ReaderError as error:
        place = Position(source) if is_argument else _place(source, text, error.position)
        message = f"the character U+{int(error.character):04X} is not allowed in YAML"
        raise ConfigError([Mistake(place, (), message)]) from None
    except (ValueError, OverflowError) as error:  # an escape or directive with a number out of range
        raise ConfigError([*composer.mistakes, Mistake(Position(source), (), f"not YAML: {error}")]) from None
    if composer.mistakes:
        raise ConfigError(composer.mistakes)
    return Scalar(composer.at(1, 1), None, "") if composer.root is None else composer.root


def _syntax_mistake(error: yaml.MarkedYAMLError, text: str, composer: _Composer) -> Mistake:
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return Mistake(Position(composer.source), (), f"not YAML: {error}")
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    blanks = line[: len(line) - len(line.lstrip())]
    if "\t" in blanks:
        column = blanks.index("\t") + 1
        position = composer.at(mark.line + 1, column)
        return Mistake(position, (), "a tab stands in the indentation; YAML allows only blanks there")
    context = f"{error.context}: " if error.context else ""
    return Mistake(composer.at(mark.line + 1, mark.column + 1), (), f"not YAML: {context}{error.problem}")


@dataclass(slots=True)
class _Open:
    """A table or list that is being read; `key` is the table's key whose value comes next, None in it a merge key."""

    position: Position
    anchor: str | None
    is_table: bool
    key: tuple[str | None, Position] | None = None
    keys: dict[str, Position] = field(default_factory=dict)
    values: dict[str, Node] = field(default_factory=dict)
    items: list[Node] = field(default_factory=list)
    merged: list[Table] = field(default_factory=list)
    size: int = 1
    depth: int = 1


class _Composer:
    """Builds the tree from the parser's events; never recursive, so that no input can exhaust the stack."""

    def __init__(self, source: str, is_argument: bool) -> None:
        self.source = source
        self.is_argument = is_argument
        self.root: Node | None = None
        self.mistakes: list[Mistake] = []
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Node, int, int]] = {}

    def at(self, line: int, column: int) -> Position:
        return Position(self.source) if self.is_argument else Position(self.source, line, column)

    def take(self, event: yaml.Event) -> None:
        mark = event.start_mark
        position = self.at(mark.line + 1, mark.column + 1) if mark is not None else Position(self.source)
        if isinstance(event, yaml.DocumentStartEvent):
            if self.root is not None:
                raise self._fatal(position, "a second document starts here; one file holds one experiment")
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event.anchor, position)
        elif isinstance(event, yaml.ScalarEvent):
            self._refuse_tag(event.tag, position)
            value = natural(event.value) if event.style is None else event.value
            node = Scalar(position, value, event.value)
            is_merge = event.style is None and event.value == "<<"
            self._remember(event.anchor, node, 1, 0)
            self._place(node, position, 1, 0, is_merge)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._refuse_tag(event.tag, position)
            self._stack.append(_Open(position, event.anchor, isinstance(event, yaml.MappingStartEvent)))
            if len(self._stack) > MAX_DEPTH:
                raise self._fatal(position, f"nested deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()

    def _fatal(self, position: Position, message: str) -> ConfigError:
        return ConfigError([*self.mistakes, Mistake(position, self._path(), message)])

    def _path(self) -> tuple[str, ...]:
        return tuple(opened.key[0] or "<<" for opened in self._stack if opened.key is not None)

    def _refuse_tag(self, tag: str | None, position: Position) -> None:
        if tag is None:
            return
        shown = tag.replace("tag:yaml.org,2002:", "!!")
        message = f"found the tag {shown}; tags are not allowed, an experiment holds plain values only"
        self.mistakes.append(Mistake(position, self._path(), message))

    def _alias(self, name: str | None, position: Position) -> None:
        if name is None or name not in self._anchors:
            inside_itself = any(opened.anchor == name for opened in self._stack)
            problem = "stands inside what it stands for" if inside_itself else "has no anchor before it"
            raise self._fatal(position, f"the alias *{name} {problem}")
        node, size, depth = self._anchors[name]
        self._place(node, position, size, depth, False)

    def _remember(self, anchor: str | None, node: Node, size: int, depth: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = (node, size, depth)

    def _place(self, node: Node, position: Position, size: int, depth: int, is_merge: bool) -> None:
        if not self._stack:
            self.root = node
            return
        parent = self._stack[-1]
        parent.size += size
        parent.depth = max(parent.depth, depth + 1)
        if parent.size > MAX_VALUES:
            raise self._fatal(position, f"with its aliases this stands for more than {MAX_VALUES} values")
        if len(self._stack) + depth > MAX_DEPTH:
            raise self._fatal(position, f"nested deeper than {MAX_DEPTH} levels")
        if not parent.is_table:
            parent.items.append(node)
        elif parent.key is None:
            parent.key = self._key(node, position, is_merge)
        else:
            self._entry(parent, node)

    def _key(self, node: Node, position: Position, is_merge: bool) -> tuple[str | None, Position]:
        if isinstance(node, Scalar) and node.text is not None:
            return (None if is_merge else node.text, position)
        self.mistakes.append(Mistake(position, self._path(), f"found {kind(node)} as a key; a key is a text"))
        return ("", position)

    def _entry(self, parent: _Open, node: Node) -> None:
        assert parent.key is not None
        key, position = parent.key
        if key is None:
            self._merge(parent, node, position)
        elif key in parent.keys:
            first = parent.keys[key]
            where = "" if first.line is None else f"; it stands in line {first.line} already"
            self.mistakes.append(Mistake(position, self._path(), f"this key is there twice{where}"))
        else:
            parent.keys[key] = position
            parent.values[key] = node
        parent.key = None

    def _merge(self, parent: _Open, node: Node, position: Position) -> None:
        tables = node.nodes if isinstance(node, Items) else (node,)
        for table in tables:
            if isinstance(table, Table):
                parent.merged.append(table)
            else:
                message = f"found {kind(table)}; `<<` takes a mapping, an alias of one, or a list of them"
                self.mistakes.append(Mistake(position, self._path(), message))

    def _close(self) -> None:
        done = self._stack.pop()
        node: Node
        if done.is_table:
            for table in done.merged:  # the first one to have a key wins, as in YAML's merge type
                for key, value in table.values.items():
                    if key not in done.values:
                        done.keys[key], done.values[key] = table.keys[key], value
            node = Table(done.position, done.keys, done.values)
        else:
            node = Items(done.position, tuple(done.items))
        self._remember(done.anchor, node, done.size, done.depth)
        self._place(node, done.position, done.size, done.depth, False)


def kind(node: Node) -> str:
    """What a node is, in a sentence."""
    if isinstance(node, Table):
        return "a section"
    if isinstance(node, Items):
        return "a list"
    return "a value"
