"""Which plugins the user does not want: `--without`, `AGENTS_DISABLE_PLUGINS`, `AGENTS_LOAD_PLUGINS`."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agents_core.registry.errors import BlockedNameError
from agents_core.registry.names import CORE_DISTRIBUTION, nearest
from agents_core.registry.records import Origin, PluginRecord

DISABLE_VARIABLE = "AGENTS_DISABLE_PLUGINS"
LOAD_VARIABLE = "AGENTS_LOAD_PLUGINS"


@dataclass(frozen=True, slots=True)
class Block:
    """One name to block.

    Attributes:
        source: Where the user said so; the reason in the records of what it blocks.
        must_match: Whether it is an error that nothing has this name. An environment variable is shared by many
            calls and may name what is not installed here.
    """

    name: str
    source: str
    must_match: bool


@dataclass(frozen=True, slots=True)
class Blocking:
    """Everything that is to be blocked; `only` holds the plugins to load, None = all."""

    blocks: tuple[Block, ...]
    only: tuple[str, ...] | None

    def reason(self, origin: Origin) -> str | None:
        """Why a plugin is not to be imported; None where it is."""
        for block in self.blocks:
            if origin.is_called(block.name):
                return block.source
        if self.only is not None and not any(origin.is_called(name) for name in self.only):
            return f"not named in {LOAD_VARIABLE}"
        return None

    def component_blocks(self, origins: Sequence[Origin]) -> list[Block]:
        """The blocks that name no plugin and no distribution: they may name a component."""
        return [block for block in self.blocks if not any(origin.is_called(block.name) for origin in origins)]


def read_blocking(without: Collection[str]) -> Blocking:
    """What the caller and the environment variables ask for."""
    disabled = _split(os.environ.get(DISABLE_VARIABLE, ""))
    only = os.environ.get(LOAD_VARIABLE)
    return Blocking(
        (
            *(Block(name, f"--without {name}", must_match=True) for name in without),
            *(Block(name, f"{DISABLE_VARIABLE} names {name}", must_match=False) for name in disabled),
        ),
        None if only is None else _split(only),
    )


def refuse_essential(blocking: Blocking, core: Origin) -> None:
    """Core's own components cannot be taken away.

    Raises:
        BlockedNameError: A block means core.
    """
    for block in blocking.blocks:
        if core.is_called(block.name):
            raise BlockedNameError(f"{block.source}: '{block.name}' is essential and cannot be blocked")


def refuse_unmatched(block: Block, records: Sequence[PluginRecord]) -> None:
    """A block that no plugin answered to.

    Raises:
        BlockedNameError: It names a component of core, or something that must be there is not.
    """
    if any(
        component.name == block.name for record in records if record.origin.is_core for component in record.components
    ):
        raise BlockedNameError(
            f"{block.source}: '{block.name}' is built into {CORE_DISTRIBUTION} and cannot be blocked"
        )
    if block.must_match:
        known = sorted({name for record in records if not record.origin.is_core for name in _answers_to(record)})
        near = nearest(block.name, known)
        hint = f" Did you mean '{near}'?" if near else f" Installed: {', '.join(known) or 'none'}."
        raise BlockedNameError(f"{block.source}: no plugin, distribution or component has this name.{hint}")


def _answers_to(record: PluginRecord) -> set[str]:
    return {record.name, record.distribution or record.name, *record.names}


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())
