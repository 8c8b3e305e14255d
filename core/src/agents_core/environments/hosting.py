"""Environment objects with their place in a run: what goes wrong in one is said with its number and its cause."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn, TypeVar

from agents_core.contracts.environment import Actions, Environment, EnvironmentSteps
from agents_core.environments.checks import StructureChecker, check_unique, refuse_non_finite
from agents_core.environments.seeding import environment_seed
from agents_core.environments.stacking import Int64s
from agents_core.errors import AgentsError, EnvironmentFailedError

MakeEnvironment = Callable[[int, int], Environment]
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Place:
    """Where an environment object stands in a run.

    Attributes:
        index: Its index among the environment objects.
        first_env: Number of its first environment.
        num_envs: How many it hosts.
        hosts_many: Whether it could host several.
    """

    index: int
    first_env: int
    num_envs: int
    hosts_many: bool

    def __str__(self) -> str:
        return environment_names(self.first_env, self.num_envs)


def environment_names(first: int, count: int) -> str:
    """`environment 3`, `environments 0 to 7`."""
    return f"environment {first}" if count == 1 else f"environments {first} to {first + count - 1}"


def places(num_envs: int, hosts_many: bool, objects: int) -> list[Place]:
    """The environment objects of a run: `objects` that share the environments, or one for each environment."""
    if not hosts_many:
        return [Place(number, number, 1, False) for number in range(num_envs)]
    bounds = [num_envs * index // objects for index in range(objects + 1)]
    return [Place(index, first, end - first, True) for index, (first, end) in enumerate(pairwise(bounds))]


class Host:
    """One environment object.

    Raises:
        EnvironmentFailedError: From every method, when the environment raises or returns what it may not.
        UserError: As the environment's factory raised it.
    """

    def __init__(self, make_environment: MakeEnvironment, place: Place) -> None:
        self.place = place
        self._checkers: dict[str, StructureChecker] = {}
        self.environment = self._guarded("while it was made", lambda: make_environment(place.first_env, place.num_envs))

    def reset(self, seed: int | None, parameters: Mapping[str, float] | None, restart: int) -> EnvironmentSteps:
        """Start new episodes.

        Args:
            seed: Of the whole pool.
            parameters: As for `Environment.reset`.
            restart: How many times the worker has been restarted.
        """
        # An object that hosts many derives its instances' seeds itself, so that they do not depend on who shares it.
        if seed is not None and (not self.place.hosts_many or restart):
            seed = environment_seed(seed, self.place.first_env, restart)
        return self._check(self._guarded("in reset", lambda: self.environment.reset(seed, parameters)))

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        """Advance the environment."""
        try:
            steps = self.environment.step(actions)
        except (Exception, SystemExit) as error:
            self._fail("in step", error)
        return self._check(steps)

    def close(self) -> None:
        """Close the environment."""
        self._guarded("in close", self.environment.close)

    def check_ids(self, name: str, agent_id: Int64s) -> None:
        """Refuse agents that stand twice in the decision steps."""
        check_unique(agent_id, name, str(self.place))

    def refuse_non_finite(self, name: str, steps: EnvironmentSteps) -> None:
        """Name the first number of the behavior that is not finite, if there is one."""
        if name in steps.behaviors:
            spec = self.environment.behavior_specs[name]
            refuse_non_finite(name, steps.behaviors[name], spec, str(self.place))

    def _check(self, steps: EnvironmentSteps) -> EnvironmentSteps:
        if not isinstance(steps, EnvironmentSteps):
            raise EnvironmentFailedError(
                f"{self.place} returned a {type(steps).__name__} from reset or step, expected EnvironmentSteps"
            )
        for name, behavior in steps.behaviors.items():
            checker = self._checkers.get(name) or self._make_checker(name)
            checker.check(behavior)
        return steps

    def _make_checker(self, name: str) -> StructureChecker:
        specs = self.environment.behavior_specs
        if name not in specs:
            known = ", ".join(f"'{known}'" for known in specs) or "none"
            raise EnvironmentFailedError(
                f"{self.place} has agents of behavior '{name}', which its behavior_specs lack (there: {known})"
            )
        self._checkers[name] = StructureChecker(name, specs[name], str(self.place))
        return self._checkers[name]

    def _guarded(self, when: str, call: Callable[[], ResultT]) -> ResultT:
        try:
            return call()
        except (Exception, SystemExit) as error:
            self._fail(when, error)

    def _fail(self, when: str, error: BaseException) -> NoReturn:
        if isinstance(error, AgentsError):
            raise error
        raise EnvironmentFailedError(f"{self.place} failed {when}: {describe_exception(error)}") from error


def describe_exception(error: BaseException) -> str:
    """Type, message and innermost place of an exception in one line."""
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    frames = traceback.extract_tb(error.__traceback__)
    return f"{text} ({frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name})" if frames else text
