"""The worker-pool contract: many environments that look like one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from agents_core.contracts.environment import Actions, Environment, EnvironmentSteps
from agents_core.spec import BehaviorSpec

ConfigT = TypeVar("ConfigT")


class WorkerPool(ABC):
    """Steps every environment of a run and merges their agents.

    `agent_id`s are unique over the whole pool. Rows keep one order while the agent set is unchanged, and then the
    same `agent_id` array object is returned. Results never depend on which worker is faster.
    """

    max_instances: int | None = None
    """The environment's own limit, see `Environment.max_instances`."""

    hidden_state: tuple[str, ...] = ()
    """See `Environment.hidden_state`."""

    @property
    @abstractmethod
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]: ...

    @abstractmethod
    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        """As `Environment.reset`; every environment gets a seed of its own, derived from `seed` and its number."""

    @abstractmethod
    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        """As `Environment.step`, for all environments.

        Raises:
            EnvironmentFailedError: An environment raised, or a worker died or hung more often than allowed.
        """

    @abstractmethod
    def close(self) -> None:
        """End all workers and free all shared memory; calling it twice is allowed."""

    def timers(self) -> dict[str, dict[str, float]]:
        """Seconds and counts measured inside workers: {name: {"total": seconds, "count": n}}."""
        return {}


@dataclass(frozen=True, slots=True)
class WorkerPoolContext(Generic[ConfigT]):
    """What a worker-pool factory is called with.

    Attributes:
        config: The pool's own config model, validated.
        num_envs: Environments in the whole run.
        hosts_many: Whether one `Environment` object hosts several instances, or one each is needed.
        make_environment: `make_environment(first_env, num_envs)`; picklable, so that spawned workers can call it.
    """

    config: ConfigT
    num_envs: int
    hosts_many: bool
    make_environment: Callable[[int, int], Environment]
