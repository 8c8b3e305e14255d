"""Names of plugins and components: how they compare, what is allowed, which is nearest."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

from agents_core.plugin import Kind

CORE_DISTRIBUTION = "agents-core"
CORE_PLUGIN = "core"

_COMPONENT_NAME = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")

FIRST_PARTY: Mapping[tuple[Kind, str], str] = {
    ("trainer", "ppo"): "agents-ppo",
    ("trainer", "sac"): "agents-sac",
    ("trainer", "bc"): "agents-bc",
    ("reward-signal", "curiosity"): "agents-reward-curiosity",
    ("reward-signal", "gail"): "agents-reward-gail",
    ("reward-signal", "rnd"): "agents-reward-rnd",
    ("environment", "gymnasium"): "agents-env-gymnasium",
    ("environment", "unity"): "agents-env-unity",
    ("stats-writer", "tensorboard"): "agents-stats-tensorboard",
    ("demonstration-format", "demo"): "agents-env-unity",
    ("demonstration-format", "minari"): "agents-demonstrations-minari",
    ("demonstration-format", "ml-agents-buffer"): "agents-env-unity",
    ("exporter", "onnx"): "agents-export-onnx",
}
"""Distributions of the project's own components, for hints where one is not installed."""


def normalise(name: str) -> str:
    """The form in which plugin and distribution names are compared (PEP 503): `Agents_PPO` is `agents-ppo`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_component_name(name: str) -> bool:
    """Whether a component may have this name: lower case, digits, single `-` or `_` inside.

    Experiment files, `--set` paths and metric names hold it, so `.`, `:` and `/` are out, and case never decides.
    """
    return _COMPONENT_NAME.fullmatch(name) is not None


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be."""
    matches = difflib.get_close_matches(name.lower(), sorted(set(known)), n=1)
    return matches[0] if matches else None


def words(kind: Kind) -> str:
    """A kind as it stands in a sentence: `reward signal`."""
    return kind.replace("-", " ")


def one_line(text: str) -> str:
    """`text` with every run of white space as one blank."""
    return " ".join(text.split())


def describe(error: BaseException) -> str:
    """An exception on one line: `ImportError: No module named 'x'`."""
    if isinstance(error, SystemExit):
        return f"it called sys.exit({error.code!r})"
    try:
        text = one_line(str(error))
    except Exception:  # an exception class whose own text cannot be made
        text = ""
    name = type(error).__name__
    return f"{name}: {text}" if text else name
