"""From what a user names, a file, a folder, a list or `format:name`, to one demonstration."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agents_core.contracts.demonstration import Demonstration, DemonstrationError, DemonstrationFormat
from agents_core.demonstrations.checks import check_demonstration, wrong_choices
from agents_core.demonstrations.fitting import fitted
from agents_core.demonstrations.formats import Source, check_options, find_sources, make_format, target_of
from agents_core.demonstrations.joining import joined
from agents_core.registry import load_registry
from agents_core.spec import BehaviorSpec

if TYPE_CHECKING:
    from agents_core.registry import Registry

_log = logging.getLogger(__name__)

SourceName = str | Path


def load_demonstrations(
    sources: SourceName | Sequence[SourceName],
    *,
    spec: BehaviorSpec | None = None,
    registry: Registry | None = None,
    options: Mapping[str, object] | None = None,
) -> Demonstration:
    """The episodes of all sources as one demonstration to learn from; what a file's reader warns of is logged.

    Args:
        sources: A file, a folder (every file in it whose suffix a format has, by name) or `format:name`, such as
            `minari:D4RL/door/human-v2`; or a list of these, read in its order.
        spec: What a policy sees and does; None = that of the first source.
        registry: Where formats are found; None = what is installed.
        options: For the formats, by the keys of their config models.

    Raises:
        DemonstrationError: A source is missing, damaged, empty or of another spec.
    """
    parts: list[Demonstration] = []
    for source, part in read_sources(sources, registry=registry, options=options):
        for warning in part.warnings:
            _log.warning("%s", warning)
        if problem := wrong_choices(part, source.label):
            raise DemonstrationError(problem)
        spec = spec or part.spec
        parts.append(fitted(part, spec, source.label))
    return joined(parts)


def read_sources(
    sources: SourceName | Sequence[SourceName],
    *,
    registry: Registry | None = None,
    options: Mapping[str, object] | None = None,
) -> Iterator[tuple[Source, Demonstration]]:
    """Each source as it is, not yet fitted to anything.

    Args, raises:
        As `load_demonstrations`.
    """
    named = [sources] if isinstance(sources, str | Path) else list(sources)
    if not named:
        raise DemonstrationError("no demonstration is named; give at least one file or folder")
    registry = registry or load_registry()
    found = [source for name in named for source in find_sources(name, registry)]
    check_options(options or {}, found)
    for source in found:
        demonstration = make_format(source.format, options or {}).read(source.name)
        check_demonstration(demonstration, source.label)
        yield source, demonstration


def read_demonstrations(
    sources: SourceName | Sequence[SourceName],
    *,
    registry: Registry | None = None,
    options: Mapping[str, object] | None = None,
) -> Demonstration:
    """As `load_demonstrations`, but to look at: nothing is logged, and wrong discrete actions are only warned of."""
    parts: list[Demonstration] = []
    for source, part in read_sources(sources, registry=registry, options=options):
        if problem := wrong_choices(part, source.label):
            part = replace(part, warnings=(*part.warnings, problem))
        parts.append(fitted(part, parts[0].spec, source.label) if parts else part)
    return joined(parts)


def check_target(
    target: SourceName, *, registry: Registry | None = None, force: bool = False, append: bool = False
) -> None:
    """Refuse a target before the work for it is done.

    Raises:
        DemonstrationError: No format has its suffix, or it is there and may neither be replaced nor appended to.
    """
    source, opened = _open(target, registry)
    if opened.exists(source.name) and not force and not append:
        raise DemonstrationError(
            f"{source.label}: it is there already; --force replaces it, --append adds to it, or choose another name"
        )


def store_demonstration(
    target: SourceName,
    demonstration: Demonstration,
    *,
    registry: Registry | None = None,
    force: bool = False,
    append: bool = False,
) -> None:
    """Write a demonstration in the format that the target's suffix or prefix names.

    Args:
        target: A file or `format:name`.
        demonstration: What to write.
        registry: Where formats are found; None = what is installed.
        force: Replace what is there.
        append: Add to what is there.

    Raises:
        DemonstrationError: As `check_target`; or the format cannot hold it, or the target holds another spec.
    """
    check_target(target, registry=registry, force=force, append=append)
    source, opened = _open(target, registry)
    if append and opened.exists(source.name):
        opened.append(source.name, demonstration)
    else:
        opened.write(source.name, demonstration)


def _open(target: SourceName, registry: Registry | None) -> tuple[Source, DemonstrationFormat]:
    source = target_of(target, registry or load_registry())
    return source, make_format(source.format, {})
