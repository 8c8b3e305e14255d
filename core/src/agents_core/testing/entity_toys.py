"""A toy with a varying number of things to see."""

from __future__ import annotations

import numpy as np

from agents_core.columns import Array
from agents_core.contracts.environment import Actions
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.column_environment import Bools, ColumnEnvironment, Floats, Int64s


class NearestEntity(ColumnEnvironment):
    """Choose the colour of the nearest of one to eight entities.

    An entity is seen as [x, y, one of three colours one-hot], in any order and at any place of the eight, the others
    being 0. How near the nearest one is differs, so that it is found only by comparing. A right choice pays 1/8, an
    episode has 8 decisions: the best return is 1.
    """

    MOST = 8
    COLOURS = 3
    LENGTH = 8
    GAP = 0.3

    def __init__(self, agents: int = 1) -> None:
        observation = ObservationSpec("entities", (self.MOST, 2 + self.COLOURS), kind="entities")
        spec = BehaviorSpec((observation,), ActionSpec(discrete_branches=(self.COLOURS,)))
        super().__init__("NearestEntity", spec, agents)
        self._entities: Floats = np.zeros((agents, *observation.shape), np.float32)
        self._nearest_colour: Int64s = np.zeros(agents, np.int64)

    def start(self, rows: Int64s) -> None:
        generator, shape = self.generator, (len(rows), self.MOST)
        colour = generator.integers(0, self.COLOURS, shape)
        present = np.arange(self.MOST) < generator.integers(1, self.MOST + 1, len(rows))[:, None]
        # The first one is the nearest, before they are shuffled.
        distance = generator.uniform(0.1, 1.0, shape)
        distance[:, 1:] = distance[:, :1] + self.GAP + generator.uniform(0, 0.5, (len(rows), self.MOST - 1))
        angle = generator.uniform(0, 2 * np.pi, shape)
        place = distance[:, :, None] * np.stack([np.cos(angle), np.sin(angle)], axis=2)
        seen = np.concatenate([place, np.eye(self.COLOURS)[colour]], axis=2) * present[:, :, None]
        order = generator.permuted(np.tile(np.arange(self.MOST), (len(rows), 1)), axis=1)
        self._entities[rows] = np.take_along_axis(seen, order[:, :, None], axis=1)
        self._nearest_colour[rows] = colour[:, 0]

    def observe(self) -> tuple[Array, ...]:
        return (self._entities,)

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        reward = (actions.discrete[:, 0] == self._nearest_colour).astype(np.float32) / np.float32(self.LENGTH)
        self.start(self._agent_id)
        return reward, self.time + 1 >= self.LENGTH, np.zeros(self.agents, np.bool_)
