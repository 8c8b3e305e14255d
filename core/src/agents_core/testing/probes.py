"""Probe environments: each can be learnt only if one particular part of a trainer works.

In the order in which to look at them when something does not learn, after Andy Jones, "Debugging Reinforcement
Learning Systems" (2021). All hold any number of agents and take a discrete or a continuous action.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from agents_core.columns import Array
from agents_core.contracts.environment import Actions
from agents_core.spec import BehaviorSpec, ObservationSpec
from agents_core.testing.column_environment import (
    ActionKind,
    Bools,
    ColumnEnvironment,
    Floats,
    Int64s,
    one_action,
    signed_action,
)
from agents_core.testing.toy_config import OneStepName


@dataclass(frozen=True, slots=True)
class OneStepProblem:
    """Episodes of one decision.

    Attributes:
        observations: The observation is one of these, drawn anew for every episode.
        reward: `reward(observation, action)`, float32[n] each; the action is in [-1, 1].
    """

    observations: tuple[float, ...]
    reward: Callable[[Floats, Floats], Floats]


ONE_STEP_PROBLEMS: Mapping[OneStepName, OneStepProblem] = {
    "constant_reward": OneStepProblem((0.0,), lambda observation, _: np.ones_like(observation)),
    "observation_reward": OneStepProblem((-1.0, 1.0), lambda observation, _: observation.copy()),
    "action_reward": OneStepProblem((0.0,), lambda _, action: action.copy()),
    "observation_action_reward": OneStepProblem((-1.0, 1.0), lambda observation, action: observation * action),
}
"""Does the value learn a number; does it read the observation; does the policy read the advantage; and both together.

The best return is 1, and of `observation_reward` the observation itself, whatever is done.
"""


class OneStepProbe(ColumnEnvironment):
    """One of the problems above; behavior `Probe`."""

    def __init__(self, name: OneStepName, agents: int = 1, action: ActionKind = "discrete") -> None:
        super().__init__("Probe", _spec(action), agents)
        self._problem = ONE_STEP_PROBLEMS[name]
        self._seen: Floats = np.zeros((agents, 1), np.float32)

    def start(self, rows: Int64s) -> None:
        self._seen[rows, 0] = self.generator.choice(self._problem.observations, len(rows))

    def observe(self) -> tuple[Array, ...]:
        return (self._seen,)

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        reward = self._problem.reward(self._seen[:, 0], signed_action(actions))
        return reward, np.ones(self.agents, np.bool_), np.zeros(self.agents, np.bool_)


class DelayedReward(ColumnEnvironment):
    """Two decisions, at the observations 0 and 1; reward 1 after the second: is the discount right?

    The value of observation 0 is gamma, that of observation 1 is 1.
    """

    def __init__(self, agents: int = 1, action: ActionKind = "discrete") -> None:
        super().__init__("Probe", _spec(action), agents)

    def start(self, rows: Int64s) -> None:
        """Nothing but the time changes."""

    def observe(self) -> tuple[Array, ...]:
        return (np.minimum(self.time, 1).astype(np.float32)[:, None],)

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        del actions  # Nothing depends on them.
        ended = self.time == 1
        return ended.astype(np.float32), ended, np.zeros(self.agents, np.bool_)


class TimeLimit(ColumnEnvironment):
    """Reward 1 a step, cut off after 10 steps: do values bootstrap through a limit?

    The observation is a random number that means nothing, so that a final one is like any other. The value is
    1 / (1 - gamma) at every step.
    """

    LIMIT = 10

    def __init__(self, agents: int = 1, action: ActionKind = "discrete") -> None:
        super().__init__("Probe", _spec(action), agents)
        self._seen: Floats = np.zeros((agents, 1), np.float32)

    def start(self, rows: Int64s) -> None:
        self._draw(rows)

    def observe(self) -> tuple[Array, ...]:
        return (self._seen,)

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        del actions  # Nothing depends on them.
        self._draw(self._agent_id)
        return np.ones(self.agents, np.float32), np.zeros(self.agents, np.bool_), self.time + 1 >= self.LIMIT

    def _draw(self, rows: Int64s) -> None:
        self._seen[rows, 0] = self.generator.uniform(-1, 1, len(rows))


def _spec(action: ActionKind) -> BehaviorSpec:
    return BehaviorSpec((ObservationSpec("probe", (1,)),), one_action(action))
