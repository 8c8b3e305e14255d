"""Makes the toy that an experiment names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from agents_core.contracts.environment import Environment, EnvironmentContext
from agents_core.testing.entity_toys import NearestEntity
from agents_core.testing.failing import FailingEnvironment
from agents_core.testing.goal_toys import GoalLine
from agents_core.testing.image_toys import TwoCameras, VisualSimple1D
from agents_core.testing.memory_toys import RememberedCue
from agents_core.testing.probes import ONE_STEP_PROBLEMS, DelayedReward, OneStepProbe, TimeLimit
from agents_core.testing.ragged import Ragged
from agents_core.testing.toy_config import Failure, OneStepName, ToyConfig
from agents_core.testing.toys import MaskedBranches, MaskedHybrid, Simple1D


def make_toy(context: EnvironmentContext[ToyConfig]) -> Environment:
    """The toy of `context.config`; of the failing ones, only environment `failing_env` fails."""
    config = context.config
    if config.id in get_args(Failure):
        if context.first_env != config.failing_env:
            return Simple1D(config.agents)
        return FailingEnvironment(cast(Failure, config.id), config.at_step, config.agents)
    if config.id in ONE_STEP_PROBLEMS:
        return OneStepProbe(cast(OneStepName, config.id), config.agents, config.action)
    makers: dict[str, Callable[[], Environment]] = {
        "simple1d": lambda: Simple1D(config.agents, config.action),
        "visual_simple1d": lambda: VisualSimple1D(config.agents, config.action, config.side),
        "two_cameras": lambda: TwoCameras(config.agents),
        "nearest_entity": lambda: NearestEntity(config.agents),
        "goal_line": lambda: GoalLine(config.agents),
        "remembered_cue": lambda: RememberedCue(config.agents, config.action),
        "masked_branches": lambda: MaskedBranches(config.agents),
        "masked_hybrid": lambda: MaskedHybrid(config.agents),
        "delayed_reward": lambda: DelayedReward(config.agents, config.action),
        "time_limit": lambda: TimeLimit(config.agents, config.action),
        "ragged": lambda: Ragged(config.agents, config.behaviors, config.late_after, config.groups, config.image),
    }
    return makers[config.id]()


@dataclass(frozen=True, slots=True)
class ToyMaker:
    """`make_environment` of worker pools, for tests that make a pool without an experiment.

    Attributes:
        config: Of the toy.
    """

    config: ToyConfig

    def __call__(self, first_env: int, num_envs: int) -> Environment:
        return make_toy(EnvironmentContext(self.config, num_envs, first_env, Path()))
