"""Runs the kit on components of this folder."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

from agents_core.registry import Registry, load_registry
from agents_core.testing.conformance.checks import run_checks
from agents_core.testing.conformance.component import PACKAGING, ComponentConformance

PACKAGING_TOO = (
    *PACKAGING,
    "test_options_survive_an_experiment_file",
    "test_options_have_a_json_schema",
    "test_the_readme_shows_a_config_that_is_valid",
)
"""What is checked of every component alike has tests of its own."""
SPAWNED = "test_a_spawned_process_computes_the_same"


@cache
def registry_with(module: str) -> Registry:
    """Everything installed and the components of a module in this folder."""
    registry = load_registry()
    registry.add_local(f"{module}.py", Path(__file__).parent)
    return registry


def failures(
    kit: type[ComponentConformance], module: str, name: str, config: Mapping[str, object], without: Collection[str]
) -> dict[str, str]:
    """The checks that a component of a module fails, with their messages."""
    registry = registry_with(module)
    made = kit.of(registry, registry.find(kit.kind, name), config)
    outcomes = list(run_checks(made, without=without))
    assert outcomes
    return {outcome.check: outcome.message for outcome in outcomes if outcome.status == "failed"}


def load(module: str) -> dict[str, str]:
    """By component name, the one check that it fails."""
    registry_with(module)
    expected: Mapping[type, str] = sys.modules[module].EXPECTED
    return {component.__name__.lower(): check for component, check in expected.items()}
