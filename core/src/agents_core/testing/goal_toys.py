"""A toy whose aim is another in each episode."""

from __future__ import annotations

import numpy as np

from agents_core.columns import Array
from agents_core.contracts.environment import Actions
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.column_environment import Bools, ColumnEnvironment, Floats, Int64s, signed_action


class GoalLine(ColumnEnvironment):
    """Walk on seven cells to the cell that the goal names; both are seen one-hot, the goal as a `goal`.

    Choice 0 goes a cell to the left, 1 to the right. A step towards the goal costs nothing, one away from it (or into
    the end of the line) 0.1; arriving pays 1 and ends the episode: the best return is 1. Episodes of 30 steps are cut
    off.
    """

    CELLS = 7
    COST = 0.1
    LIMIT = 30

    def __init__(self, agents: int = 1) -> None:
        observations = (
            ObservationSpec("position", (self.CELLS,)),
            ObservationSpec("target", (self.CELLS,), kind="goal"),
        )
        super().__init__("GoalLine", BehaviorSpec(observations, ActionSpec(discrete_branches=(2,))), agents)
        self._position: Int64s = np.zeros(agents, np.int64)
        self._goal: Int64s = np.ones(agents, np.int64)

    def start(self, rows: Int64s) -> None:
        self._position[rows] = self.generator.integers(0, self.CELLS, len(rows))
        distance = self.generator.integers(1, self.CELLS, len(rows))
        self._goal[rows] = (self._position[rows] + distance) % self.CELLS

    def observe(self) -> tuple[Array, ...]:
        one_hot = np.eye(self.CELLS, dtype=np.float32)
        return (one_hot[self._position], one_hot[self._goal])

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        step = signed_action(actions).astype(np.int64)
        is_right_way = step == np.sign(self._goal - self._position)
        self._position = np.clip(self._position + step, 0, self.CELLS - 1)
        arrived = self._position == self._goal
        reward = np.where(arrived, 1.0, np.where(is_right_way, 0.0, -self.COST)).astype(np.float32)
        return reward, arrived, ~arrived & (self.time + 1 >= self.LIMIT)
