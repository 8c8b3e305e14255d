"""The checks of the kit for any component, without pytest: what `agents plugins check` runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from pydantic import ValidationError

from agents_core.plugin import Kind
from agents_core.registry import Component, Registry
from agents_core.registry.conformance import Check
from agents_core.testing.conformance.checks import Outcome, run_checks
from agents_core.testing.conformance.component import PACKAGING, ComponentConformance

CLASSES: Mapping[Kind, str] = {
    "buffer": "BufferConformance",
    "encoder": "EncoderConformance",
    "environment": "EnvironmentConformance",
    "reward-signal": "RewardSignalConformance",
    "stats-writer": "StatsWriterConformance",
    "trainer": "TrainerConformance",
}
"""Names in `agents_core.testing`, by kind of component."""


def check_component(component: Component, registry: Registry, options: Mapping[str, object]) -> Iterator[Check]:
    """Run the checks of the component's kind, but for those that `check_plugin` makes of its plugin.

    Args:
        component: What to check.
        registry: Where it was found.
        options: Its options, in place of the defaults.
    """
    if component.kind not in CLASSES:
        return
    kit: Any = getattr(import_module("agents_core.testing"), CLASSES[component.kind])
    made: type[ComponentConformance] = kit.of(registry, component, dict(options))
    try:
        made.options()
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, part['loc'])) or 'options'}: {part['msg']}" for part in error.errors())
        yield Check(f"{component.title}: behaves", None, f"give it options with --set KEY=VALUE ({wrong})")
        return
    for outcome in run_checks(made, without=PACKAGING):
        yield _check(component, outcome)


def _check(component: Component, outcome: Outcome) -> Check:
    name = f"{component.title}: {outcome.title}"
    if outcome.status == "failed":
        return Check(name, outcome.message, advice=outcome.help)
    return Check(name, None, outcome.message if outcome.status == "skipped" else None)
