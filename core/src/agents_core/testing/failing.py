"""Environments that fail on purpose, to see that a run says what failed and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping

import numpy as np

from agents_core.contracts.environment import Actions, Environment, EnvironmentSteps
from agents_core.spec import BehaviorSpec
from agents_core.testing.toy_config import Failure
from agents_core.testing.toys import Simple1D


class FailingEnvironment(Environment):
    """`Simple1D` until it fails.

    Args:
        failure: How: it raises a ValueError, ends its process (`exits` with code 7, `killed` by SIGKILL), sleeps for
            ever without listening to SIGTERM, or returns what it may not. Where the name says no more, in `step`.
        at_step: The step that fails, counted from 1.
        agents: How many agents there are.
    """

    def __init__(self, failure: Failure, at_step: int = 1, agents: int = 1) -> None:
        self._failure = failure
        self._at_step = at_step
        self._steps = 0
        self._toy = Simple1D(agents)

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return self._toy.behavior_specs

    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        if self._failure == "raises_in_reset":
            raise ValueError("this environment fails on purpose")
        return self._toy.reset(seed, parameters)

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        steps = self._toy.step(actions)
        self._steps += 1
        if self._steps == self._at_step:
            self._fail(steps)
        return steps

    def close(self) -> None:
        if self._failure == "raises_in_close":
            raise ValueError("this environment fails on purpose")
        if self._failure == "hangs_in_close":
            _hang()

    def _fail(self, steps: EnvironmentSteps) -> None:
        decision = steps.behaviors["Simple1D"].decision
        if self._failure == "raises":
            raise ValueError("this environment fails on purpose")
        if self._failure == "exits":
            os._exit(7)
        if self._failure == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._failure == "hangs":
            _hang()
        if self._failure == "nan_observation":
            decision.observations = (np.full_like(decision.observations[0], np.nan),)
        if self._failure == "nan_reward":
            decision.reward[-1] = np.nan
        if self._failure == "wrong_shape":
            decision.observations = (np.zeros((len(decision), 2), np.float32),)


def _hang() -> None:
    if hasattr(signal, "SIGTERM"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(3600)
