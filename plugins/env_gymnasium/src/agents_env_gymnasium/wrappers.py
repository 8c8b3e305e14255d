"""Wrappers that Gymnasium does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt


class KeepComponents(gymnasium.ObservationWrapper[npt.NDArray[Any], Any, npt.NDArray[Any]]):
    """Shows only some numbers of a vector observation, as with `keep: [0, 2]` CartPole without its velocities."""

    def __init__(self, env: gymnasium.Env[Any, Any], keep: Sequence[int]) -> None:
        """Args:
            env: Its observations are vectors.
            keep: Which components, in this order.

        Raises:
            ValueError: The observation is no vector, or has no such component.
        """
        super().__init__(env)
        space = env.observation_space
        if not isinstance(space, gymnasium.spaces.Box) or len(space.shape) != 1:
            raise ValueError(f"KeepComponents takes vector observations, the environment's are {space}")
        if not keep or not all(0 <= index < space.shape[0] for index in keep):
            raise ValueError(f"KeepComponents: keep must name components 0 to {space.shape[0] - 1}, found {list(keep)}")
        self._keep = np.array(keep)
        self.observation_space = gymnasium.spaces.Box(space.low[self._keep], space.high[self._keep], dtype=space.dtype)

    def observation(self, observation: npt.NDArray[Any]) -> npt.NDArray[Any]:
        kept: npt.NDArray[Any] = observation[self._keep]
        return kept
