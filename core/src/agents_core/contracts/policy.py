"""The policy contract: observations in, actions out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array
from agents_core.contracts.environment import Actions
from agents_core.spec import BehaviorSpec


class Policy(ABC):
    """Chooses actions for all agents of a tick in one call.

    Attributes:
        spec: What the agents see and do.
        memory_size: Numbers that an agent keeps from one action to the next within an episode; 0 = none.
    """

    spec: BehaviorSpec
    memory_size: int = 0

    @abstractmethod
    def act(
        self,
        observations: Sequence[Array],
        action_mask: npt.NDArray[np.bool_] | None = None,
        *,
        memory: npt.NDArray[np.float32] | None = None,
        deterministic: bool = False,
        generator: np.random.Generator | None = None,
    ) -> Actions:
        """Actions of n agents.

        Args:
            observations: One array [n, *shape] for each observation of the spec.
            action_mask: bool[n, sum of branches], True = allowed.
            memory: float32[n, memory_size], the `memory` of each agent's last action in this episode, 0 at its start;
                None = all of them start.
            deterministic: Take the most likely action instead of a sample.
            generator: Source of the samples; None = the policy's own, which training uses.

        Returns:
            With `memory` where the policy has one.
        """
