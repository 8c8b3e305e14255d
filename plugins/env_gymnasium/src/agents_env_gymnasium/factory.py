"""Opens what an `environment` section describes."""

from __future__ import annotations

from agents_core.contracts.environment import Environment, EnvironmentContext

from agents_env_gymnasium.config import GymnasiumConfig
from agents_env_gymnasium.making import Maker
from agents_env_gymnasium.serial import SerialEnvironment
from agents_env_gymnasium.vector import VectorEnvironment


def open_environment(context: EnvironmentContext[GymnasiumConfig]) -> Environment:
    """Make the environments and choose how they are stepped.

    Raises:
        UserError: The config names something that is not there, cannot be made or cannot be learned from.
        EnvironmentFailedError: A constructor raised for a reason of its own.
    """
    config = context.config
    maker = Maker(config, context.directory)
    wants = config.vectorization
    if wants == "own" or (wants == "auto" and maker.prefers_vector(context.num_envs)):
        return VectorEnvironment(context, maker.make_vector(context.num_envs))
    return SerialEnvironment(context, maker.make(context.num_envs), maker.step_limit)
