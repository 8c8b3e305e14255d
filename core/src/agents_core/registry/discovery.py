"""The entry points of installed distributions, each with its metadata read once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points

from agents_core.plugin import ENTRY_POINT_GROUP
from agents_core.registry.metadata import DistributionMetadata, read_metadata
from agents_core.registry.names import CORE_DISTRIBUTION, describe, normalise
from agents_core.registry.records import Origin

BUILTIN_MODULE = "agents_core.builtin"


@dataclass(frozen=True, slots=True)
class Discovered:
    """One installed plugin that nothing has been imported of.

    Attributes:
        entry_point: None where the distribution's list of entry points cannot be read.
        problem: Why its files cannot be read; None where they can.
    """

    origin: Origin
    entry_point: EntryPoint | None
    metadata: DistributionMetadata | None
    problem: str | None = None


def discover() -> list[Discovered]:
    """All installed plugins but core's own, in an order that does not depend on the installation."""
    try:
        found = [_describe(entry) for entry in _with_metadata(entry_points(group=ENTRY_POINT_GROUP))]
    except Exception:
        # One unreadable entry_points.txt anywhere in the environment fails the whole call: go through them singly.
        found = _search_singly()
    return sorted(
        (plugin for plugin in found if not _is_core(plugin)),
        key=lambda plugin: (plugin.origin.plugin, plugin.origin.distribution or "", plugin.origin.entry_point),
    )


_Read = tuple[EntryPoint, "DistributionMetadata | None", "str | None"]


def _with_metadata(found: Iterable[EntryPoint]) -> list[_Read]:
    read: dict[int, tuple[DistributionMetadata | None, str | None]] = {}
    rows: list[_Read] = []
    for entry in found:
        distribution = entry.dist
        if distribution is None:
            rows.append((entry, None, None))
            continue
        if id(distribution) not in read:
            read[id(distribution)] = _read(distribution)
        rows.append((entry, *read[id(distribution)]))
    return rows


def _read(distribution: Distribution) -> tuple[DistributionMetadata | None, str | None]:
    try:
        return read_metadata(distribution), None
    except Exception as error:
        return None, f"its METADATA cannot be read: {describe(error)}"


def _describe(row: _Read) -> Discovered:
    entry, metadata, problem = row
    name, version = (metadata.name, metadata.version) if metadata else (None, None)
    return Discovered(Origin(entry.name, name, version, entry.value), entry, metadata, problem)


def _search_singly() -> list[Discovered]:
    found: list[Discovered] = []
    seen: set[str] = set()
    for distribution in distributions():
        metadata, problem = _read(distribution)
        name = normalise(metadata.name) if metadata else f"nameless-{len(seen)}"
        # The first one on sys.path is the one that imports.
        if name in seen:
            continue
        seen.add(name)
        try:
            entries = [entry for entry in distribution.entry_points if entry.group == ENTRY_POINT_GROUP]
            found += [_describe((entry, metadata, problem)) for entry in entries]
        except Exception as error:
            found += _unreadable(distribution, metadata, f"its entry_points.txt cannot be read: {describe(error)}")
    return found


def _unreadable(distribution: Distribution, metadata: DistributionMetadata | None, problem: str) -> list[Discovered]:
    """A damaged distribution, if it seems to hold a plugin; others are none of our business."""
    try:
        text = distribution.read_text("entry_points.txt") or ""
    except Exception:
        text = ENTRY_POINT_GROUP
    if ENTRY_POINT_GROUP not in text:
        return []
    name, version = (metadata.name, metadata.version) if metadata else ("unknown", None)
    return [Discovered(Origin(name, name, version, "entry_points.txt"), None, metadata, problem)]


def _is_core(plugin: Discovered) -> bool:
    """Core registers its own module itself, so that it works from a source tree or with stale metadata."""
    if plugin.origin.distribution is None:
        return plugin.origin.entry_point == BUILTIN_MODULE
    return normalise(plugin.origin.distribution) == CORE_DISTRIBUTION
