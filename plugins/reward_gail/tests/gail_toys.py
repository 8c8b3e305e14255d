"""Toys whose reward is hidden from the learner: only the expert shows what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
from agents_core.columns import Array
from agents_core.contracts.environment import Actions, DecisionSteps
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.column_environment import Bools, ColumnEnvironment, Floats, Int64s
from agents_core.testing.experts import chosen


class HiddenTarget(ColumnEnvironment):
    """Stand at a place that is not shown: the position is seen, a step to either side or none is chosen.

    Episodes have 20 decisions, whatever is done. The reward, 0 at best, is minus the distance from the target.
    """

    LENGTH, TARGET, STEP = 20, 0.6, 0.2

    def __init__(self, agents: int = 8) -> None:
        spec = BehaviorSpec((ObservationSpec("position", (1,)),), ActionSpec(discrete_branches=(3,)))
        super().__init__("HiddenTarget", spec, agents)
        self.position: Floats = np.zeros(agents, np.float32)

    def start(self, rows: Int64s) -> None:
        self.position[rows] = self.generator.uniform(-1, 1, len(rows))

    def observe(self) -> tuple[Array, ...]:
        return (self.position[:, None],)

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        self.position += self.STEP * (actions.discrete[:, 0] - 1)
        np.clip(self.position, -1.5, 1.5, out=self.position)
        reward = -np.abs(self.position - self.TARGET)
        return reward, np.zeros(self.agents, np.bool_), self.time + 1 >= self.LENGTH

    def expert(self, seen: DecisionSteps) -> Actions:
        """Goes there and stays."""
        distance = self.TARGET - seen.observations[0][:, 0]
        return chosen(self, discrete=1 + np.where(np.abs(distance) <= self.STEP / 2, 0, np.sign(distance)))


class EarlyEnd(ColumnEnvironment):
    """End the episode by choice, or go on until it is cut off after 40 decisions; the time is seen. No reward."""

    LIMIT = 40

    def __init__(self, agents: int = 8, ends_after: int = 4) -> None:
        spec = BehaviorSpec((ObservationSpec("time", (1,)),), ActionSpec(discrete_branches=(2,)))
        super().__init__("EarlyEnd", spec, agents)
        self._ends_after = ends_after

    def start(self, rows: Int64s) -> None:
        """Only the time goes on."""

    def observe(self) -> tuple[Array, ...]:
        return ((self.time[:, None] / 10).astype(np.float32),)

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        ends = actions.discrete[:, 0] == 1
        return np.zeros(self.agents, np.float32), ends, ~ends & (self.time + 1 >= self.LIMIT)

    def expert(self, seen: DecisionSteps) -> Actions:
        """Ends its episodes early."""
        return chosen(self, discrete=seen.observations[0] * 10 >= self._ends_after - 1)


class Lock(ColumnEnvironment):
    """Press twelve of three buttons in the right order; a wrong one starts the order anew. Only the end pays: 1.

    The number of right ones so far is seen, one-hot. Episodes are cut off after 24 decisions.
    """

    ORDER = np.array([0, 2, 1, 1, 0, 2, 2, 0, 1, 2, 0, 1])
    LIMIT = 24

    def __init__(self, agents: int = 8) -> None:
        spec = BehaviorSpec((ObservationSpec("right", (len(self.ORDER),)),), ActionSpec(discrete_branches=(3,)))
        super().__init__("Lock", spec, agents)
        self._right: Int64s = np.zeros(agents, np.int64)

    def start(self, rows: Int64s) -> None:
        self._right[rows] = 0

    def observe(self) -> tuple[Array, ...]:
        shown: Floats = np.eye(len(self.ORDER) + 1, dtype=np.float32)[self._right, :-1]
        return (shown,)

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        is_right = actions.discrete[:, 0] == self.ORDER[self._right]
        self._right = np.where(is_right, self._right + 1, 0)
        opened = self._right == len(self.ORDER)
        return opened.astype(np.float32), opened, ~opened & (self.time + 1 >= self.LIMIT)

    def expert(self, seen: DecisionSteps) -> Actions:
        """Knows the order."""
        return chosen(self, discrete=self.ORDER[seen.observations[0].argmax(axis=1)])


def measured(toy: Any, trainer: Any, episodes: int = 40) -> tuple[float, float]:
    """Mean return and mean length of episodes of sampled actions."""
    steps = toy.reset(seed=99)
    (name,) = toy.behavior_specs
    generator = np.random.default_rng(0)
    returns, lengths = np.zeros(toy.agents), np.zeros(toy.agents)
    finished: list[tuple[float, float]] = []
    while len(finished) < episodes:
        decision = steps.behaviors[name].decision
        steps = toy.step({name: trainer.policy.act(decision.observations, decision.action_mask, generator=generator)})
        lengths += 1
        terminal = steps.behaviors[name].terminal
        returns[terminal.agent_id] += terminal.reward
        finished += zip(returns[terminal.agent_id].tolist(), lengths[terminal.agent_id].tolist(), strict=True)
        returns += steps.behaviors[name].decision.reward
        returns[terminal.agent_id] = lengths[terminal.agent_id] = 0
    mean = np.mean(finished, axis=0)
    return float(mean[0]), float(mean[1])
