"""The `inline` worker pool: all environments in the training process."""

from __future__ import annotations

from collections.abc import Mapping

from agents_core.contracts.environment import Actions, EnvironmentSteps
from agents_core.contracts.worker_pool import WorkerPool, WorkerPoolContext
from agents_core.environments.config import InlineConfig
from agents_core.environments.group import EnvironmentGroup
from agents_core.environments.hosting import places
from agents_core.spec import BehaviorSpec


class InlinePool(WorkerPool):
    """Steps environments one after another, right where the trainer runs.

    One environment object's arrays are handed on as they are, those of several are concatenated.

    Raises:
        EnvironmentFailedError: From every method, when an environment raised or returned what it may not.
        UserError: The environment allows fewer instances, or as its factory raised it.
    """

    def __init__(self, context: WorkerPoolContext[InlineConfig]) -> None:
        objects = places(context.num_envs, context.hosts_many, 1)
        self._group = EnvironmentGroup(context.make_environment, objects, len(objects), context.num_envs)
        self.max_instances = self._group.max_instances
        self.hidden_state = self._group.hidden_state

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return self._group.behavior_specs

    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        return self._group.reset(seed, parameters)

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        return self._group.step(actions)

    def close(self) -> None:
        self._group.close()
