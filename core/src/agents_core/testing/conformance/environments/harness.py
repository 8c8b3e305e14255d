"""Environments under test: making them and stepping them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import numpy as np

from agents_core.contracts.environment import Actions, Environment, EnvironmentContext, EnvironmentSteps
from agents_core.options import ConfigModel
from agents_core.registry import Component
from agents_core.testing.conformance.checks import require
from agents_core.testing.conformance.component import ComponentConformance
from agents_core.testing.random_actions import random_actions


class EnvironmentChecks(ComponentConformance):
    """Base of the checks of environments.

    Attributes:
        steps: How many steps with random actions each check takes; enough for some episodes to end.
    """

    kind = "environment"
    steps: ClassVar[int] = 200

    def make(self, *, num_envs: int = 1, first_env: int = 0) -> Environment:
        """An environment as a worker would make it; each check closes its own."""
        return make_environment(self.found(), self.options(), self.directory(), num_envs, first_env)

    def spawned(self) -> tuple[str, tuple[object, ...]]:
        return f"{__name__}:first_steps", (self.found(), self.options(), self.directory())

    def walk(self, environment: Environment, seed: int = 0) -> Iterator[EnvironmentSteps]:
        """What a reset and steps with random actions return."""
        generator = np.random.default_rng(seed)
        steps = environment.reset(seed)
        yield steps
        for _ in range(self.steps):
            steps = environment.step(self.actions(steps, environment, generator))
            yield steps

    def actions(
        self, steps: EnvironmentSteps, environment: Environment, generator: np.random.Generator
    ) -> dict[str, Actions]:
        """Random ones of everybody who is asked."""
        return random_actions(steps, environment.behavior_specs, generator)


def make_environment(
    component: Component, config: ConfigModel, directory: Path, num_envs: int = 1, first_env: int = 0
) -> Environment:
    """An environment as a worker would make it."""
    environment = component.load_factory()(EnvironmentContext(config, num_envs, first_env, directory))
    rule = "the factory returns an Environment"
    require(isinstance(environment, Environment), rule, type(environment).__name__, "an Environment")
    made: Environment = environment
    return made


def first_steps(component: Component, config: ConfigModel, directory: Path) -> list[float]:
    """Numbers of a reset and a few steps."""
    with closing(make_environment(component, config, directory)) as environment:
        steps, generator, numbers = environment.reset(0), np.random.default_rng(0), []
        for _ in range(5):
            for _, behavior in sorted(steps.behaviors.items()):
                for array in (*behavior.decision.observations, behavior.decision.reward):
                    numbers.append(float(np.asarray(array, np.float64).sum()))
            steps = environment.step(random_actions(steps, environment.behavior_specs, generator))
        return numbers
