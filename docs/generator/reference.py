"""Reference pages, one a kind of component, from core's source and from the plugins of the repository."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import agents_core.testing
from agents_core.cli.plugin_page import EXAMPLES
from agents_core.options import BodyConfig, ConfigModel, MemoryConfig, NetworkConfig, RewardSignalConfig
from agents_core.plugin import Kind
from agents_core.registry.config_fields import config_fields
from agents_core.registry.table import ALL_KINDS
from directory import Offer, offers
from source import Module

CORE = Path(agents_core.__file__).parent
HOOKS = Module(CORE / "registry" / "hookspecs.py")
SPECS = Module(CORE / "plugin.py")
CONTRACTS = {"stats-writer": "stats"}
"""Contract modules that are not called as their kind."""
OPTIONS = (ConfigModel, RewardSignalConfig, NetworkConfig, BodyConfig, MemoryConfig)


def pages(root: Path) -> dict[str, str]:
    """Every page by its path in the site."""
    found = list(offers(root))
    kinds = {f"reference/{kind}.md": _kind_page(kind, found) for kind in ALL_KINDS}
    return {**kinds, **_other_pages()}


def _kind_page(kind: Kind, found: list[Offer]) -> str:
    title = kind.replace("-", " ").capitalize()
    hook = f"agents_{kind.replace('-', '_')}s"
    spec = "".join(map(str.capitalize, kind.split("-"))) + "Spec"
    parts = [f"# {title}", "", *_users(kind, found), *_place(kind)]
    parts += ["## The hook", "", HOOKS.document(hook, 3), SPECS.document(spec, 3)]
    parts += ["It has these fields of every spec, too:", "", SPECS.document("ComponentSpec", 3)]
    contract = CORE / "contracts" / f"{CONTRACTS.get(kind, kind.replace('-', '_'))}.py"
    if contract.is_file():
        module = Module(contract)
        parts += ["## The contract", "", module.summary, ""]
        parts += [module.document(name, 3) for name in module.classes]
    parts += _checks(spec.removesuffix("Spec") + "Conformance")
    return "\n".join(parts)


def _users(kind: str, found: list[Offer]) -> list[str]:
    """Plugins of the repository that offer this kind."""
    using = [offer for offer in found if offer.kind == kind]
    if not using:
        return ["Nothing in the repository offers one yet.", ""]
    lines = [f"- `{offer.component}` of {offer.distribution} (`{offer.folder}`): {offer.summary}" for offer in using]
    return ["Offered in the repository:", "", *lines, ""]


def _place(kind: Kind) -> list[str]:
    text = EXAMPLES.get(kind)
    if text is None:
        return []
    return ["In an experiment file:", "", "```yaml", text.format(name="NAME", required=""), "```", ""]


def _checks(name: str) -> list[str]:
    """The checks of the conformance class, if the kit has one."""
    cls = getattr(agents_core.testing, name, None)
    if cls is None:
        return []
    rows = [f"| {check.removeprefix('test_').replace('_', ' ')} | {_help(cls, check)} |" for check in cls.names()]
    intro = f"`agents_core.testing.{name}` checks all of this:"
    return ["## What the kit checks", "", intro, "", "| Check | Why |", "| --- | --- |", *rows, ""]


def _help(cls: type, check: str) -> str:
    text = inspect.getdoc(getattr(cls, check)) or ""
    return " ".join(text.partition("\n\nMend:")[0].split()).replace("|", "\\|")


def _other_pages() -> dict[str, str]:
    columns = _module_page("Columns and batches", "columns") + Module(CORE / "trajectory.py").document("Trajectories")
    return {
        "reference/observers.md": _observers(),
        "reference/columns.md": columns,
        "reference/specs.md": _module_page("What agents see and do", "spec"),
        "reference/policy.md": _module_page("Policy", "contracts/policy"),
        "reference/errors.md": _module_page("Errors", "errors"),
        "reference/options.md": "\n".join(["# Options", "", *_option_tables()]),
    }


def _observers() -> str:
    offering = {f"agents_{kind.replace('-', '_')}s" for kind in ALL_KINDS}
    intro = (
        "Hooks that watch a run, and one that adds commands. Each is called with all of its arguments by name; an "
        "implementation may take fewer."
    )
    hooks = [HOOKS.document(name) for name in HOOKS.functions if name not in offering]
    return "\n".join(["# Observers and commands", "", intro, "", *hooks, SPECS.document("CommandSpec")])


def _module_page(title: str, name: str) -> str:
    module = Module(CORE / f"{name}.py")
    return "\n".join([f"# {title}", "", module.summary, "", *map(module.document, module.classes)])


def _option_tables() -> Iterator[str]:
    module = Module(CORE / "options.py")
    yield module.summary + "\n"
    for model in OPTIONS:
        yield f"## {model.__name__}\n\n{inspect.getdoc(model)}\n"
        rows = config_fields(model)
        if rows:
            yield "| Option | Type | Default | Bounds | Meaning |\n| --- | --- | --- | --- | --- |"
            for row in rows:
                cells = [f"`{row.name}`", row.type, row.default or "", row.bounds, row.description or ""]
                yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
            yield ""
    yield from map(module.document, ("TrainerConfig", "BehaviorOptions", "Conflict"))
