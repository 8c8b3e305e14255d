"""Finding the format of a demonstration by suffix or prefix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from agents_core.contracts.demonstration import DemonstrationError, DemonstrationFormat, DemonstrationFormatContext
from agents_core.plugin import DemonstrationFormatSpec
from agents_core.registry.names import nearest

if TYPE_CHECKING:
    from agents_core.registry import Component, Registry

    Offer = tuple[Component, DemonstrationFormatSpec]


@dataclass(frozen=True, slots=True)
class Source:
    """One thing to read or write.

    Attributes:
        format: The component that can.
        name: What it is called with: a path, or what stands after the prefix.
        label: What messages call it.
    """

    format: Component
    name: str
    label: str


def find_sources(named: str | Path, registry: Registry) -> Iterator[Source]:
    """What a file, folder or `format:name` stands for; the files of a folder by name.

    Raises:
        DemonstrationError: It is not there, or no format has its suffix.
    """
    prefixed = _prefixed(named, registry)
    if prefixed is not None:
        yield prefixed
        return
    path = Path(named).expanduser()
    if not path.exists():
        raise DemonstrationError(f"{path}: there is no such file or folder{_hint(named, registry)}")
    if not path.is_dir():
        if not path.is_file():  # Reading a pipe may never end.
            raise DemonstrationError(f"{path}: is neither a file nor a folder")
        yield _by_suffix(path, registry, is_read=True)
        return
    known = _suffixes(registry)
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in known and file.is_file())
    if not files:
        raise DemonstrationError(f"{path}: no demonstration lies in this folder; looked for {_listed(known)}")
    for file in files:
        yield _by_suffix(file, registry, is_read=True)


def target_of(named: str | Path, registry: Registry) -> Source:
    """Where to write.

    Raises:
        DemonstrationError: No format has its suffix.
    """
    return _prefixed(named, registry) or _by_suffix(Path(named).expanduser(), registry, is_read=False)


def make_format(component: Component, options: Mapping[str, Any]) -> DemonstrationFormat:
    """The format with those of the options that its config model knows.

    Raises:
        DemonstrationError: An option has a wrong value.
    """
    model = component.load_config()
    own = {key: value for key, value in options.items() if key in model.model_fields}
    try:
        config = model(**own)
    except ValidationError as error:
        first = error.errors()[0]
        raise DemonstrationError(
            f"{component.title}: {'.'.join(map(str, first['loc']))}: found {first['input']!r}: {first['msg']}"
        ) from None
    return cast("DemonstrationFormat", component.load_factory()(DemonstrationFormatContext(config)))


def check_options(options: Mapping[str, Any], sources: Sequence[Source]) -> None:
    """Refuse options that none of the sources' formats has.

    Raises:
        DemonstrationError: With the options that there are.
    """
    known = {key for source in sources for key in source.format.load_config().model_fields}
    for key in options:
        if key not in known:
            allowed = ", ".join(sorted(known)) or "none"
            near = nearest(key, known)
            hint = f"; did you mean {near!r}?" if near else ""
            raise DemonstrationError(f"demonstrations have no option {key!r} here; options: {allowed}{hint}")


def _formats(registry: Registry) -> list[Offer]:
    return [
        (component, component.spec)
        for component in registry.components("demonstration-format")
        if isinstance(component.spec, DemonstrationFormatSpec)
    ]


def _suffixes(registry: Registry) -> dict[str, list[Offer]]:
    """The formats of each suffix, in lower case."""
    offers: dict[str, list[Offer]] = {}
    for component, spec in _formats(registry):
        for suffix in spec.suffixes:
            offers.setdefault(suffix.lower(), []).append((component, spec))
    return offers


def _by_suffix(path: Path, registry: Registry, *, is_read: bool) -> Source:
    known = _suffixes(registry)
    suffix = path.suffix.lower()
    if suffix not in known:
        raise DemonstrationError(
            f"{path}: no installed plugin knows demonstrations that end in {path.suffix or 'nothing'!r}; "
            f"known: {_listed(known)}"
        )
    readers = _meant(known[suffix], path, is_read=is_read)
    if len({component.name for component in readers}) > 1:
        offers = " and ".join(component.full_title for component in readers)
        raise DemonstrationError(
            f"{path}: {offers} both know {suffix!r}; block the one you do not mean: --without NAME, or "
            "AGENTS_DISABLE_PLUGINS=NAME"
        )
    return Source(registry.find("demonstration-format", readers[0].name), str(path), str(path))


def _meant(offers: Sequence[Offer], path: Path, *, is_read: bool) -> list[Component]:
    """The formats of a suffix that a file may be in: those that recognize it, else those that the suffix belongs to."""
    if len(offers) > 1 and is_read:
        named = [(component, spec.recognizes) for component, spec in offers if spec.recognizes is not None]
        recognizing = [
            component for component, target in named if component.load_function("recognizes", target)(str(path))
        ]
        if recognizing:
            return recognizing
    owners = [component for component, spec in offers if spec.recognizes is None]
    return owners or [component for component, _ in offers]


def _prefixed(named: str | Path, registry: Registry) -> Source | None:
    prefix, colon, rest = (named if isinstance(named, str) else named.as_posix()).partition(":")
    for component, spec in _formats(registry):
        if colon and component.name == prefix and not spec.suffixes:
            return Source(component, rest, f"{prefix}:{rest}")
    return None


def _hint(named: str | Path, registry: Registry) -> str:
    """What a prefix that no format has may have meant."""
    prefix, colon, _ = str(named).partition(":")
    if not colon or len(prefix) < 2:
        return ""
    named_formats = [component.name for component, spec in _formats(registry) if not spec.suffixes]
    return f", and no installed plugin reads {prefix!r} (installed: {', '.join(named_formats) or 'none'})"


def _listed(known: Mapping[str, list[Offer]]) -> str:
    return ", ".join(sorted(known)) or "nothing, no plugin for demonstrations is installed"
