"""An environment with two behaviors that see and do the same, each in a world of its own."""

from __future__ import annotations

from collections.abc import Mapping

from agents_core.contracts.environment import Actions, Environment, EnvironmentContext, EnvironmentSteps
from agents_core.options import ConfigModel
from agents_core.plugin import EnvironmentSpec, hookimpl
from agents_core.spec import BehaviorSpec
from agents_core.testing.toys import MaskedBranches, Simple1D
from pydantic import Field


class PairConfig(ConfigModel):
    """`environment: {type: pair}`."""

    differs: bool = Field(default=False, description="Whether the student lives in another kind of world.")


class Pair(Environment):
    """The behaviors `Teacher` and `Student`."""

    def __init__(self, context: EnvironmentContext[PairConfig]) -> None:
        self._toys = {
            "Teacher": MaskedBranches(8),
            "Student": Simple1D(8) if context.config.differs else MaskedBranches(8),
        }

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return {name: spec for name, toy in self._toys.items() for spec in toy.behavior_specs.values()}

    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        seeds = {name: None if seed is None else seed + number for number, name in enumerate(self._toys)}
        return self._merged({name: toy.reset(seeds[name], parameters) for name, toy in self._toys.items()})

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        steps = {}
        for name, toy in self._toys.items():
            (inner,) = toy.behavior_specs
            steps[name] = toy.step({inner: actions[name]})
        return self._merged(steps)

    def _merged(self, steps: Mapping[str, EnvironmentSteps]) -> EnvironmentSteps:
        return EnvironmentSteps({name: part for name, own in steps.items() for part in own.behaviors.values()})

    def close(self) -> None:
        """There is nothing to free."""


@hookimpl
def agents_environments() -> list[EnvironmentSpec]:
    return [
        EnvironmentSpec(
            name="pair", summary="Two behaviors", config=f"{__name__}:PairConfig", factory=f"{__name__}:Pair"
        )
    ]
