"""Small environments that a trainer must solve quickly."""

from __future__ import annotations

import numpy as np

from agents_core.columns import Array
from agents_core.contracts.environment import Actions
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.column_environment import (
    ActionKind,
    Bools,
    ColumnEnvironment,
    Floats,
    Int64s,
    one_action,
    signed_action,
)


class Simple1D(ColumnEnvironment):
    """Move a position from 0 to the goal at -1 or 1, which is all that is seen.

    An action moves the position by itself clamped to ±0.1 (the choices 0 and 1 by -0.1 and 0.1). The episode ends at
    -1 or 1. Every step costs 0.001; at the end ±1 is paid, for the right side or the wrong one, plus what the fewest
    possible steps cost: the best return is 1, the fastest wrong one -1.02. Episodes of 1,000 steps are cut off.
    """

    STEP = 0.1
    COST = 0.001
    FEWEST_STEPS = 10
    LIMIT = 1000

    SEES = ObservationSpec("goal", (1,))

    def __init__(self, agents: int = 1, action: ActionKind = "discrete", observation: ObservationSpec = SEES) -> None:
        super().__init__("Simple1D", BehaviorSpec((observation,), one_action(action)), agents)
        self._goal: Floats = np.ones((agents, 1), np.float32)
        self._position = np.zeros(agents)

    def start(self, rows: Int64s) -> None:
        self._position[rows] = 0.0
        self._goal[rows, 0] = self.generator.integers(0, 2, len(rows)) * 2 - 1

    def observe(self) -> tuple[Array, ...]:
        return (self._goal,)

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        self._position += np.clip(signed_action(actions), -self.STEP, self.STEP)
        # Ten times 0.1 is a little less than 1.
        arrived = np.abs(self._position) > 1 - 1e-6
        reward = np.full(self.agents, -self.COST, np.float32)
        if arrived.any():
            side = np.sign(self._position) * self._goal[:, 0]
            reward[arrived] += (side * (1 + self.FEWEST_STEPS * self.COST))[arrived]
        return reward, arrived, ~arrived & (self.time + 1 >= self.LIMIT)


class MaskedBranches(ColumnEnvironment):
    """Choose the shown target in each of two branches, where other choices are forbidden at random.

    A right choice pays 1/16, an episode has 8 decisions: the best return is 1. A forbidden choice raises.
    """

    BRANCHES = (3, 4)
    LENGTH = 8

    def __init__(self, agents: int = 1) -> None:
        action = ActionSpec(discrete_branches=self.BRANCHES)
        spec = BehaviorSpec((ObservationSpec("targets", (sum(self.BRANCHES),)),), action)
        super().__init__("MaskedBranches", spec, agents)
        self._targets = ShownTargets(self.BRANCHES, agents)

    def start(self, rows: Int64s) -> None:
        self._targets.draw(rows, self.generator)

    def observe(self) -> tuple[Array, ...]:
        return (self._targets.shown,)

    def mask(self) -> Bools:
        return self._targets.allowed

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        reward = self._targets.hits(actions.discrete).sum(axis=1, dtype=np.float32) / np.float32(2 * self.LENGTH)
        self._targets.draw(self._agent_id, self.generator)
        return reward, self.time + 1 >= self.LENGTH, np.zeros(self.agents, np.bool_)


class MaskedHybrid(ColumnEnvironment):
    """Choose the shown target of three, some forbidden at random, and set a number to the shown value.

    A right choice pays 1/16, and so does a number that is exact, falling to 0 at a distance of 1; an episode has 8
    decisions: the best return is 1. A forbidden choice raises.
    """

    BRANCHES = (3,)
    LENGTH = 8

    def __init__(self, agents: int = 1) -> None:
        action = ActionSpec(continuous_size=1, discrete_branches=self.BRANCHES)
        observations = (ObservationSpec("targets", self.BRANCHES), ObservationSpec("value", (1,)))
        super().__init__("MaskedHybrid", BehaviorSpec(observations, action), agents)
        self._targets = ShownTargets(self.BRANCHES, agents)
        self._value: Floats = np.zeros((agents, 1), np.float32)

    def start(self, rows: Int64s) -> None:
        self._targets.draw(rows, self.generator)
        self._value[rows] = self.generator.uniform(-0.8, 0.8, (len(rows), 1))

    def observe(self) -> tuple[Array, ...]:
        return (self._targets.shown, self._value)

    def mask(self) -> Bools:
        return self._targets.allowed

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        hits = self._targets.hits(actions.discrete)[:, 0]
        nearness = 1 - np.minimum(np.abs(actions.continuous - self._value)[:, 0], 1)
        reward = ((hits + nearness) / (2 * self.LENGTH)).astype(np.float32)
        self.start(self._agent_id)
        return reward, self.time + 1 >= self.LENGTH, np.zeros(self.agents, np.bool_)


class ShownTargets:
    """A target for each discrete branch of each agent, and which choices are allowed.

    Attributes:
        shown: float32[agents, sum of branches], the targets one-hot.
        allowed: bool[agents, sum of branches]; a target always is.
    """

    def __init__(self, branches: tuple[int, ...], agents: int) -> None:
        self._branches = branches
        self._first = np.concatenate([[0], np.cumsum(branches)[:-1]])
        self._targets: Int64s = np.zeros((agents, len(branches)), np.int64)
        self.shown: Floats = np.zeros((agents, sum(branches)), np.float32)
        self.allowed: Bools = np.ones((agents, sum(branches)), np.bool_)

    def draw(self, rows: Int64s, generator: np.random.Generator) -> None:
        """New targets for the agents in these rows; every other choice is forbidden with probability one half."""
        targets = generator.integers(0, self._branches, (len(rows), len(self._branches)))
        columns = self._first + targets
        self._targets[rows] = targets
        self.shown[rows] = 0.0
        self.shown[rows[:, None], columns] = 1.0
        self.allowed[rows] = generator.random((len(rows), self.allowed.shape[1])) < 0.5
        self.allowed[rows[:, None], columns] = True

    def hits(self, chosen: Int64s) -> Bools:
        """bool[agents, branches], where the target was chosen.

        Raises:
            ValueError: A choice is forbidden.
        """
        allowed = np.take_along_axis(self.allowed, self._first + chosen, axis=1)
        if not allowed.all():
            agent, branch = np.argwhere(~allowed)[0]
            raise ValueError(f"agent {agent} chose {chosen[agent, branch]} in branch {branch}, which is forbidden")
        hits: Bools = chosen == self._targets
        return hits
