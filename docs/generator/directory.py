"""What the distributions of the repository offer."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents_core import builtin
from agents_core.registry.table import ALL_KINDS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class Distribution:
    """A project of the repository.

    Attributes:
        folder: Where it lies, from the root.
    """

    name: str
    folder: str
    description: str


@dataclass(frozen=True, slots=True)
class Offer:
    """One component of a distribution."""

    kind: str
    component: str
    summary: str
    distribution: str
    folder: str


def projects(root: Path) -> list[Path]:
    """Folders of the distributions that are plugins, the project's own first."""
    own, others = ("plugins/*/pyproject.toml", "examples/*/pyproject.toml")
    return [file.parent for pattern in (own, others) for file in sorted(root.glob(pattern))]


def distribution(folder: Path, root: Path) -> Distribution:
    """A project as its `pyproject.toml` describes it."""
    project = _read(folder)
    return Distribution(project["name"], folder.relative_to(root).as_posix(), project["description"])


def offers(root: Path) -> Iterator[Offer]:
    """Every component in the repository, core's first."""
    yield from _of_module(builtin, Distribution("agents-core", "core", ""))
    for folder in projects(root):
        yield from offers_of(folder, root)


def offers_of(folder: Path, root: Path) -> Iterator[Offer]:
    """The components of one project."""
    sys.path.insert(0, str(folder / "src"))  # examples are not installed
    try:
        for entry_point in _read(folder)["entry-points"]["agents.plugins"].values():
            yield from _of_module(importlib.import_module(entry_point), distribution(folder, root))
    finally:
        sys.path.remove(str(folder / "src"))


def _read(folder: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def _of_module(module: Any, of: Distribution) -> Iterator[Offer]:
    for kind in ALL_KINDS:
        hook = getattr(module, f"agents_{kind.replace('-', '_')}s", None)
        for spec in hook() if hook else ():
            yield Offer(kind, spec.name, spec.summary, of.name, of.folder)


def directory_page(root: Path) -> str:
    """The page of known plugins."""
    lines = [
        "# Known plugins",
        "",
        "Distributions whose source is in the repository, and what they offer. Anybody's plugin works as these do once",
        "it is installed: `agents plugins list` shows what is there, `agents plugins show NAME` its options. Put the",
        "keyword `agents-plugin` into yours, so that a search on PyPI finds it.",
        "",
        "| Component | Kind | Distribution | What |",
        "| --- | --- | --- | --- |",
    ]
    for offer in offers(root):
        link = offer.distribution if offer.folder == "core" else f"[{offer.distribution}]({page_name(offer.folder)})"
        lines.append(f"| `{offer.component}` | {offer.kind.replace('-', ' ')} | {link} | {offer.summary} |")
    return "\n".join(lines)


def page_name(folder: str) -> str:
    """The page of a distribution, beside the directory."""
    return folder.rpartition("/")[2].replace("_", "-") + ".md"
