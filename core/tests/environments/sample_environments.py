"""Environments of these tests; workers import them too, because the tests put this folder on `sys.path`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

import numpy as np
from agents_core.contracts.environment import (
    Actions,
    BehaviorSteps,
    DecisionSteps,
    Environment,
    EnvironmentSteps,
    TerminalSteps,
)
from agents_core.environments.seeding import environment_seed
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec

SPEC = BehaviorSpec((ObservationSpec("x", (2,)),), ActionSpec(discrete_branches=(2,)))


def terminal(*ids: int, observation: float = 0.0) -> TerminalSteps:
    """Ends of these agents of `SPEC`."""
    count = len(ids)
    observations = np.full((count, 2), observation, np.float32)
    return TerminalSteps(
        np.array(ids, np.int64), (observations,), np.zeros(count, np.float32), np.zeros(count, np.bool_)
    )


def decision(*ids: int, observation: float = 0.0) -> DecisionSteps:
    """Decisions of these agents of `SPEC`."""
    count = len(ids)
    observations = np.full((count, 2), observation, np.float32)
    return DecisionSteps(np.array(ids, np.int64), (observations,), np.zeros(count, np.float32))


class Scripted(Environment):
    """Returns the given steps one after another, the first from `reset`; remembers the actions and the seed."""

    def __init__(
        self,
        *steps: Mapping[str, BehaviorSteps],
        specs: Mapping[str, BehaviorSpec] | None = None,
        max_instances: int | None = None,
    ) -> None:
        self._steps = [EnvironmentSteps(dict(step), {"number": [float(place)]}) for place, step in enumerate(steps)]
        self._specs = {"Walker": SPEC} if specs is None else specs
        self.max_instances = max_instances
        self.actions: list[Mapping[str, Actions]] = []
        self.seed: int | None = None
        self.parameters: Mapping[str, float] | None = None
        self.is_closed = False

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return self._specs

    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        self.seed, self.parameters = seed, parameters
        return self._steps[0]

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        self.actions.append(actions)
        return self._steps[len(self.actions)]

    def close(self) -> None:
        self.is_closed = True


class Hosted(Environment):
    """Hosts many instances with one agent each, which sees its instance's own random number."""

    def __init__(self, first_env: int, num_envs: int) -> None:
        self._first_env = first_env
        self._generators = [np.random.default_rng(number) for number in range(num_envs)]

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return {"Walker": SPEC}

    def reset(self, seed: int | None = None, *_: object) -> EnvironmentSteps:
        if seed is not None:
            seeds = [environment_seed(seed, self._first_env + place) for place in range(len(self._generators))]
            self._generators = [np.random.default_rng(own) for own in seeds]
        return self._observe()

    def step(self, *_: object) -> EnvironmentSteps:
        return self._observe()

    def close(self) -> None:
        pass

    def _observe(self) -> EnvironmentSteps:
        steps = decision(*range(len(self._generators)))
        steps.observations[0][:] = [generator.random(2) for generator in self._generators]
        return EnvironmentSteps({"Walker": BehaviorSteps(steps, terminal())})


class Introspective(Scripted):
    """Reports on the process that it lives in, as statistics."""

    def __init__(self, *_: int) -> None:
        super().__init__({"Walker": BehaviorSteps(decision(0), terminal())})

    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        steps = super().reset(seed, parameters)
        steps.stats = {
            "process": [float(os.getpid())],
            "threads": [float(os.environ["OMP_NUM_THREADS"])],
            "torch": [float("torch" in sys.modules)],
        }
        return steps


def lonely(*_: int) -> Environment:
    """An environment of which only one can be open."""
    return Scripted({"Walker": BehaviorSteps(decision(0), terminal())}, max_instances=1)


def impossible(first_env: int, _: int) -> Environment:
    """An environment that cannot be made."""
    raise FileNotFoundError(f"no scene for {first_env}")


class Echo(Environment):
    """Agents of two behaviors, of which the second acts every other step; all see their own last choice."""

    def __init__(self, *_: int) -> None:
        self._steps = 0
        self._choices = {"Always": 0, "Sometimes": 0}

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return {"Always": SPEC, "Sometimes": SPEC}

    def reset(self, *_: object) -> EnvironmentSteps:
        self._steps = 0
        self._choices = {"Always": 0, "Sometimes": 0}
        return self._observe()

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        self._steps += 1
        self._choices.update({name: int(own.discrete[0, 0]) for name, own in actions.items()})
        return self._observe()

    def close(self) -> None:
        pass

    def _observe(self) -> EnvironmentSteps:
        present = ["Always", "Sometimes"] if self._steps % 2 == 0 else ["Always"]
        return EnvironmentSteps(
            {name: BehaviorSteps(decision(0, observation=self._choices[name]), terminal()) for name in present}
        )


class ChildMinder(Scripted):
    """Starts a process of its own, as an editor or a game would be, and hangs when it is closed."""

    def __init__(self, *_: int) -> None:
        super().__init__({"Walker": BehaviorSteps(decision(0), terminal())})
        self._child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])

    def reset(self, *_: object) -> EnvironmentSteps:
        steps = super().reset()
        steps.stats = {"child": [float(self._child.pid)]}
        return steps

    def close(self) -> None:
        self._child.wait()
