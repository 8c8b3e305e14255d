"""New distributions: what they are called, and their files from the templates beside this module."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath
from string import Template
from typing import TYPE_CHECKING

from agents_core import __version__, builtin
from agents_core.errors import UserError
from agents_core.registry.names import FIRST_PARTY, is_component_name, nearest, normalise

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

SUFFIX = ".template"
LONGEST_NAME = 30
"""Letters of a component name; longer ones would break the lines of the templates."""

_FIRST_PARTY_DISTRIBUTIONS = {*FIRST_PARTY.values(), "agents-core", "agents-suite"}


@dataclass(frozen=True, slots=True)
class Recipe:
    """What projects of one kind have in common.

    Attributes:
        title: The kind in a sentence.
        prefix: Stands between `agents-` and the component's name in that of the distribution.
        class_suffix: Ends the name of the component's class.
        summary: One line about the example.
        requires: What the example imports besides core and pydantic.
        trains_with: What its experiment runs with.
    """

    title: str
    prefix: str
    class_suffix: str
    summary: str
    requires: tuple[str, ...]
    trains_with: tuple[str, ...] = ("agents-env-gymnasium", "agents-ppo")


_NUMPY, _TORCH = "numpy>=1.26", "torch>=2.4"

KINDS: Mapping[str, Recipe] = {
    "trainer": Recipe(
        "trainer",
        "",
        "Trainer",
        "Advantage actor-critic: one step of gradient descent for each rollout",
        (_NUMPY, _TORCH),
        ("agents-env-gymnasium",),
    ),
    "reward-signal": Recipe(
        "reward signal", "reward-", "Reward", "Pays for observations that a network has not learned yet", (_TORCH,)
    ),
    "buffer": Recipe(
        "buffer",
        "buffer-",
        "Buffer",
        "The newest transitions, each as likely to be sampled as any other",
        (_NUMPY, _TORCH),
        ("agents-env-gymnasium", "agents-sac"),
    ),
    "stats-writer": Recipe("stats writer", "stats-", "StatsWriter", "Statistics as a table in a CSV file", ()),
    "environment": Recipe(
        "environment", "env-", "Environment", "Catch a falling ball with a paddle", (_NUMPY,), ("agents-ppo",)
    ),
    "encoder": Recipe("encoder", "encoder-", "Encoder", "Sines and cosines of random sums of the numbers", (_TORCH,)),
}
"""Kinds that there are templates for."""


@dataclass(frozen=True, slots=True)
class Project:
    """The names of a new distribution.

    Attributes:
        kind: A key of `KINDS`.
        component: What experiment files will call it.
    """

    kind: str
    component: str

    @property
    def recipe(self) -> Recipe:
        return KINDS[self.kind]

    @property
    def distribution(self) -> str:
        return f"agents-{self.recipe.prefix}{self.component}"

    @property
    def values(self) -> dict[str, str]:
        """What the placeholders of the templates stand for."""
        required = _core_range()
        tests = ["agents-core[testing]" + required, *(name + required for name in self.recipe.trains_with)]
        return {
            "component": self.component,
            "distribution": self.distribution,
            "plugin": self.distribution.removeprefix("agents-"),
            "package": self.distribution.replace("-", "_"),
            "class_name": "".join(map(str.capitalize, self.component.split("-"))) + self.recipe.class_suffix,
            "kind": self.kind,
            "title": self.recipe.title,
            "summary": self.recipe.summary,
            "dependencies": _toml_lines(["agents-core" + required, *self.recipe.requires]),
            "test_dependencies": _toml_lines([*tests, "mypy>=1.10", "pytest>=8", "ruff>=0.6"]),
            "trains_with": " ".join(self.recipe.trains_with),
        }


def check_kind(text: str) -> str:
    """The kind that was meant.

    Raises:
        UserError: There is no template for it.
    """
    kind = normalise(text)
    if kind in KINDS:
        return kind
    near = nearest(kind, KINDS)
    hint = f" Did you mean '{near}'?" if near else ""
    raise UserError(f"there is no template for a '{text}'.{hint} Kinds: {', '.join(KINDS)}")


def name_project(kind: str, name: str) -> Project:
    """The project of a component; `My_Signal` and `agents-reward-my-signal` are both `my-signal`.

    Raises:
        UserError: A component may not be called so, or the project's own distributions are.
    """
    component = normalise(name).removeprefix(f"agents-{KINDS[kind].prefix}")
    if not name.isascii() or not is_component_name(component) or len(component) > LONGEST_NAME:
        example = re.sub(r"[^a-z0-9]+", "-", component.lower()).strip("-0123456789")[:LONGEST_NAME].strip("-")
        hint = f", such as '{example}'" if example else ""
        raise UserError(
            f"'{name}' cannot name a component: use at most {LONGEST_NAME} letters a-z, digits and single '-', "
            f"beginning with a letter{hint}"
        )
    if component in ("null", "true", "false"):
        raise UserError(f"'{name}' is no name in an experiment file but {component}; choose another NAME")
    project = Project(kind, component)
    if project.distribution in _FIRST_PARTY_DISTRIBUTIONS:
        raise UserError(f"{project.distribution} is a distribution of agents itself; choose another NAME")
    if component in _core_names(kind):
        raise UserError(f"the {project.recipe.title} '{component}' is core's own; choose another NAME")
    return project


def render(project: Project) -> dict[PurePosixPath, str]:
    """Every file of the project by its path inside the project's folder."""
    values = project.values
    root = files("agents_core.cli").joinpath("templates")
    found = {
        path: text
        for part in ("common", project.kind)
        for path, text in _templates(root.joinpath(part), PurePosixPath())
    }
    about = PurePosixPath("about.md")
    values["about"] = _fill(found.pop(about), values).strip()
    values["experiment"] = _fill(found[PurePosixPath("experiment.yaml")], values).strip()
    return {PurePosixPath(_fill(str(path), values)): _fill(text, values) for path, text in found.items()}


def write(folder: Path, rendered: Mapping[PurePosixPath, str]) -> None:
    """Write a new project, whole or not at all.

    Raises:
        UserError: The disk does not let us.
    """
    try:
        for path, text in rendered.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8", newline="\n") as opened:
                opened.write(text)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UserError(f"the project cannot be written: {error}. Choose another place with --output DIR") from error


def _templates(folder: Traversable, path: PurePosixPath) -> Iterator[tuple[PurePosixPath, str]]:
    """Texts below a folder by their path without the suffix."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _templates(entry, path / entry.name)
        elif entry.name.endswith(SUFFIX):
            yield path / entry.name.removesuffix(SUFFIX), entry.read_text(encoding="utf-8")


def _fill(text: str, values: Mapping[str, str]) -> str:
    return Template(text).substitute(values)


def _toml_lines(requirements: list[str]) -> str:
    return "\n".join(f'    "{requirement}",' for requirement in requirements)


def _core_range() -> str:
    """The versions of core that keep their promises to a plugin written today: up to the next minor before 1.0."""
    major, minor = map(int, __version__.split(".")[:2])
    return f">={major}.{minor},<{major}.{minor + 1}" if major == 0 else f">={major}.{minor},<{major + 1}"


def _core_names(kind: str) -> set[str]:
    """Components of this kind that core registers itself, normalised."""
    hook = getattr(builtin, f"agents_{kind.replace('-', '_')}s", None)
    return set() if hook is None else {normalise(spec.name) for spec in hook()}
