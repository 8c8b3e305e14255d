"""Simple1D on images as a Gymnasium environment, for both libraries."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np


class VisualSimple1D(gymnasium.Env[Any, Any]):
    """The same task as `agents_core.testing.image_toys.VisualSimple1D` with discrete actions, on 84 x 84 x 3 bytes."""

    STEP = 0.1
    COST = 0.001
    FEWEST_STEPS = 10
    LIMIT = 1000
    SIDE = 84

    observation_space = gymnasium.spaces.Box(0, 255, (SIDE, SIDE, 3), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._position, self._time = 0.0, 0
        self._goal = int(self.np_random.integers(0, 2)) * 2 - 1
        square = self.SIDE // 4
        top = int(self.np_random.integers(0, self.SIDE - square + 1))
        left = self.SIDE - square if self._goal > 0 else 0
        self._image = np.zeros((self.SIDE, self.SIDE, 3), np.uint8)
        self._image[top : top + square, left : left + square] = 255
        return self._image, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._position += self.STEP if action else -self.STEP
        self._time += 1
        arrived = abs(self._position) > 1 - 1e-6
        side = 1 if self._position > 0 else -1
        reward = -self.COST + (side * self._goal * (1 + self.FEWEST_STEPS * self.COST) if arrived else 0.0)
        return self._image, reward, arrived, not arrived and self._time >= self.LIMIT, {}
