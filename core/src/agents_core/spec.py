"""What an agent sees and does: observation, action and behavior specs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

ObservationKind = Literal["vector", "image", "entities", "goal"]


@dataclass(frozen=True, slots=True)
class ObservationSpec:
    """One observation of an agent.

    Attributes:
        name: Unique within the behavior; `network.encoders` picks by it.
        shape: Shape of one agent's observation, without the agent axis. Images are channels last.
        dtype: NumPy dtype name that the observation is stored in, such as `float32` or `uint8`.
        kind: What the numbers mean; it decides how they are encoded. `vector`: any numbers; `image`: height, width and
            channels, of bytes or of floats in [0, 1]; `entities`: as many rows as there may be entities, those of
            zeros are padding; `goal`: what to aim at, see `network.conditioning`.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    kind: ObservationKind = "vector"

    @property
    def size(self) -> int:
        """Numbers in one observation."""
        return math.prod(self.shape)

    @property
    def numpy_dtype(self) -> np.dtype[np.generic]:
        return np.dtype(self.dtype)


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """What an agent does at each decision; continuous and discrete parts may come together.

    Attributes:
        continuous_size: Number of continuous action dimensions.
        discrete_branches: Number of choices of each discrete branch.
        bounded: Whether continuous actions live in [-1, 1]. An unbounded space is passed through unscaled.
    """

    continuous_size: int = 0
    discrete_branches: tuple[int, ...] = ()
    bounded: bool = True

    def __post_init__(self) -> None:
        if self.continuous_size < 0 or any(size < 1 for size in self.discrete_branches):
            raise ValueError(f"impossible action sizes: {self}")
        if self.continuous_size == 0 and not self.discrete_branches:
            raise ValueError("an action needs a continuous dimension or a discrete branch")

    @property
    def mask_size(self) -> int:
        """Width of `action_mask`: the choices of all branches side by side."""
        return sum(self.discrete_branches)


@dataclass(frozen=True, slots=True)
class BehaviorSpec:
    """Everything a policy must know of the agents that share it."""

    observations: tuple[ObservationSpec, ...]
    action: ActionSpec

    def __post_init__(self) -> None:
        names = [observation.name for observation in self.observations]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"a behavior needs observations with names that differ, found {names}")
