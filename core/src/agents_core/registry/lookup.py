"""Finding what a name means among what plugins offer, and saying exactly why it means nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NoReturn, TypeVar

from agents_core.plugin import Kind
from agents_core.registry.errors import AmbiguousComponentError, BrokenPluginError, UnknownComponentError
from agents_core.registry.names import FIRST_PARTY, nearest, normalise, words
from agents_core.registry.records import Component, PluginCommand, PluginRecord, way_out

EntryT = TypeVar("EntryT", Component, PluginCommand)


def matching(entries: Iterable[EntryT], name: str) -> list[EntryT]:
    """What `name`, plain or qualified, means. A plain name that core has means core's own: a stranger's plugin that
    takes it is reached by its qualified name and stops nobody's run."""
    qualifier, _, short = name.rpartition(":")
    named = [entry for entry in entries if entry.name == short]
    if qualifier:
        return [entry for entry in named if entry.origin.is_called(qualifier)]
    return [entry for entry in named if entry.origin.is_core] or named


def choose(found: Sequence[EntryT]) -> EntryT:
    """The one entry that was found.

    Raises:
        AmbiguousComponentError: There are several; their distributions and the ways out are named.
    """
    if len(found) == 1:
        return found[0]
    offers = " and ".join(entry.origin.label for entry in found)
    names = " or ".join(f"'{name}'" for name in _telling_names(found))
    blocks = " or ".join(f"--without {name.partition(':')[0]}" for name in _telling_names(found))
    raise AmbiguousComponentError(
        f"{found[0].title} is offered by {offers}. Name the one you mean, {names}, or block the other: {blocks}"
    )


def _telling_names(found: Sequence[EntryT]) -> list[str]:
    """Qualified names that tell the entries apart: by distribution, or by plugin where that is the same."""
    names = [entry.qualified_name for entry in found]
    return names if len(set(names)) == len(names) else [f"{entry.origin.plugin}:{entry.name}" for entry in found]


def refuse_component(
    kind: Kind, name: str, components: Sequence[Component], records: Sequence[PluginRecord]
) -> NoReturn:
    """No component of this kind has this name: say what is the matter and what to do.

    Raises:
        BrokenPluginError: It belongs, or by its name seems to belong, to a plugin that is not usable.
        UnknownComponentError: Otherwise.
    """
    short = name.rpartition(":")[2]
    _refuse_unusable(f"{words(kind)} '{name}'", name, (kind,), records)
    known = sorted({component.name for component in components if component.kind == kind})
    raise UnknownComponentError(
        f"no installed plugin provides {words(kind)} '{name}'.{_hint(kind, short, components)} "
        f"Installed {words(kind)}s: {', '.join(known) or 'none'}.{_others(records)}"
    )


def _refuse_unusable(what: str, name: str, kinds: Collection[Kind], records: Sequence[PluginRecord]) -> None:
    """Blame a plugin that is not usable, where the name is its own or it seems to offer it."""
    for record in records:
        if not record.is_usable and _seems_to_offer(record, kinds, name):
            raise BrokenPluginError(
                f"{what} cannot be used: {record.complaint.rstrip('.')}. {_way_out(record)}"
            ) from record.error


def _seems_to_offer(record: PluginRecord, kinds: Collection[Kind], name: str) -> bool:
    qualifier, _, short = name.rpartition(":")
    if qualifier:
        return record.origin.is_called(qualifier)
    if any(component.kind in kinds and component.name == short for component in record.withheld):
        return True
    # Without an import nobody knows what it offers: `rnd` is likely in `reward-rnd` or `agents-reward-rnd`.
    wanted = normalise(short)
    names = (normalise(record.name), normalise(record.distribution or ""))
    return any(own == wanted or own.endswith(f"-{wanted}") for own in names)


def _way_out(record: PluginRecord) -> str:
    """What to do about a plugin that is not usable."""
    if record.status == "blocked":
        return "Take the block away to use it."
    if record.status == "incompatible":  # its reason says what to install
        return f"Or block it: --without {record.distribution}."
    return way_out(record.origin)


def _hint(kind: Kind, name: str, components: Sequence[Component]) -> str:
    """The nearest name, whether it is installed or only known to exist."""
    installed = {component.name: component for component in components if component.kind == kind}
    known = {first: distribution for (its_kind, first), distribution in FIRST_PARTY.items() if its_kind == kind}
    if name in known and name not in installed:
        return f" Install it with: pip install {known[name]}."
    near = nearest(name, [*installed, *known])
    if near in installed:
        return f" Did you mean '{near}' ({installed[near].origin.qualifier})?"
    if near is not None:
        return f" Did you mean '{near}'? Install it with: pip install {known[near]}."
    elsewhere = [component for component in components if component.name == name]
    if elsewhere:
        return f" '{name}' is a {words(elsewhere[0].kind)}."
    return ""


def _others(records: Iterable[PluginRecord]) -> str:
    """Plugins that were not loaded, which may be where the name is."""
    missing = [f"{record.label} ({record.status})" for record in records if not record.is_usable]
    return f" Not loaded: {', '.join(missing)}; see `agents plugins list`." if missing else ""


def refuse_name(
    name: str, kinds: Collection[Kind], components: Sequence[Component], records: Sequence[PluginRecord]
) -> NoReturn:
    """No component, plugin or distribution has this name.

    Raises:
        BrokenPluginError: A plugin that is not usable has it.
        UnknownComponentError: Otherwise.
    """
    _refuse_unusable(f"'{name}'", name, kinds, records)
    for record in records:
        if record.origin.is_called(name):
            raise UnknownComponentError(f"{record.origin.title} offers no {' or '.join(map(words, kinds))}")
    for kind, first in FIRST_PARTY:
        if kind in kinds and normalise(name) in (first, FIRST_PARTY[kind, first]):
            refuse_component(kind, first, components, records)
    known = {component.name for component in components if component.kind in kinds}
    known |= {name for record in records for name in (record.name, record.distribution or record.name)}
    near = nearest(name, known)
    hint = f" Did you mean '{near}'?" if near else ""
    raise UnknownComponentError(
        f"no installed component, plugin or distribution is named '{name}'.{hint} "
        f"`agents plugins list` shows what is installed.{_others(records)}"
    )
