"""The config block of a plugin's README."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import distribution as find_distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import yaml
from pydantic import ValidationError

from agents_core.config import load_experiment
from agents_core.errors import UserError
from agents_core.plugin import Kind
from agents_core.registry import Component, Registry
from agents_core.registry.names import words
from agents_core.testing.conformance.checks import require

_BLOCK = re.compile(r"^```ya?ml[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SHARED_KEYS: Mapping[Kind, frozenset[str]] = {
    "environment": frozenset({"num_envs", "workers"}),
    "trainer": frozenset({"buffer"}),
}
"""What core reads of a section itself."""


def read_readme(distribution: str) -> str:
    """The README of an installed distribution: of its folder where it is installed from one, else of its metadata."""
    installed = find_distribution(distribution)
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        file = Path(url2pathname(urlsplit(origin["url"]).path)) / "README.md"
        return file.read_text(encoding="utf-8") if file.is_file() else ""
    text = installed.read_text("METADATA") or ""
    return text.replace("\r\n", "\n").partition("\n\n")[2]


def check_readme(text: str, component: Component, registry: Registry, directory: Path) -> None:
    """Find a YAML block that uses the component, and judge it.

    Raises:
        ConformanceError: There is none, or it is wrong.
    """
    blocks = [block for block in map(_read, _BLOCK.findall(text)) if block is not None]
    using = [(block, list(sections(block, component))) for block in blocks]
    using = [(block, found) for block, found in using if found]
    rule = f"the README has a YAML block that uses {component.title}"
    require(bool(using), rule, f"{len(blocks)} YAML blocks, none with it", _example(component))
    for block, found in using:
        problem = _problem_of_sections(found, component, directory) or _problem_of_experiment(block, registry)
        require(
            problem is None,
            "the config in the README is valid",
            problem,
            f"a config that {words(component.kind)} takes",
        )


def _read(text: str) -> Mapping[str, Any] | None:
    try:
        block = yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    return block if isinstance(block, Mapping) else None


def sections(block: object, component: Component) -> Iterator[Mapping[str, Any]]:
    """The options that a part of an experiment file gives to the component."""
    if not isinstance(block, Mapping):
        return
    for key, value in block.items():
        yield from _section(str(key), value, component)
        yield from sections(value, component)


def _section(key: str, value: object, component: Component) -> Iterator[Mapping[str, Any]]:
    names = (component.name, component.qualified_name)
    named = {"reward-signal": "reward_signals", "stats-writer": "stats"}.get(component.kind)
    if named is not None:
        entries = value.items() if key == named and isinstance(value, Mapping) else ()
        for name, section in entries:
            options = section if isinstance(section, Mapping) else {}
            if options.get("type", name) in names:
                yield options
        return
    typed: list[object] = []
    places = {"trainer": "trainer", "buffer": "buffer", "environment": "environment", "worker-pool": "workers"}
    if component.kind == "encoder":
        typed += value.values() if key == "encoders" and isinstance(value, Mapping) else ()
    elif key == places.get(component.kind):
        typed.append(value)
    for section in typed:
        if isinstance(section, Mapping) and section.get("type") in names:
            yield section


def _problem_of_sections(found: list[Mapping[str, Any]], component: Component, directory: Path) -> str | None:
    model, skipped = component.load_config(), {"type", *_SHARED_KEYS.get(component.kind, ())}
    for section in found:
        own = {key: value for key, value in section.items() if key not in skipped}
        try:
            # As text, since files write `3e-4`, which YAML takes for a text where a number is meant.
            model.model_validate(own, context={"directory": directory})
        except ValidationError as error:
            return "; ".join(f"{'.'.join(map(str, part['loc']))}: {part['msg']}" for part in error.errors())
    return None


def _problem_of_experiment(block: Mapping[str, Any], registry: Registry) -> str | None:
    """What is wrong with the whole file, where it is one and all that it names is installed here."""
    if "behaviors" not in block:
        return None
    try:
        load_experiment(block, registry)
    except UserError as error:
        lines = str(error).splitlines()
        return None if all("no installed plugin provides" in line for line in lines) else str(error)
    return None


def _example(component: Component) -> str:
    return {
        "reward-signal": f"reward_signals: {{{component.name}: {{…}}}}",
        "stats-writer": f"stats: {{{component.name}: {{}}}}",
        "encoder": f"network: {{encoders: {{OBSERVATION: {{type: {component.name}}}}}}}",
    }.get(component.kind, f"{component.kind}: {{type: {component.name}, …}}")
