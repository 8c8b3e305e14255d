"""The policy, which acts at random until there is something to learn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from agents_core.columns import Array
from agents_core.contracts.environment import Actions
from agents_core.networks.policy import NetworkPolicy
from agents_core.networks.sampling import Floats, choose_actions


class SoftPolicy(NetworkPolicy):
    """Acts by the actor, or uniformly at random where training says so.

    Attributes:
        is_random: Whether actions in training are uniform over all that are allowed.
    """

    is_random = False

    def act(
        self,
        observations: Sequence[Array],
        action_mask: npt.NDArray[np.bool_] | None = None,
        *,
        memory: Floats | None = None,
        deterministic: bool = False,
        generator: np.random.Generator | None = None,
    ) -> Actions:
        if deterministic or generator is not None or not self.is_random:
            return super().act(
                observations, action_mask, memory=memory, deterministic=deterministic, generator=generator
            )
        actions = self._act_randomly(len(observations[0]), action_mask)
        if self.memory_size:
            # What is remembered is what was seen, whatever was done.
            actions.memory = super().act(observations, action_mask, memory=memory, deterministic=True).memory
        return actions

    def _act_randomly(self, rows: int, mask: npt.NDArray[np.bool_] | None) -> Actions:
        form = self.network.form
        size = form.spec.continuous_size
        # Equal logits make every allowed choice equally likely.
        equal = np.zeros((rows, form.outputs), np.float32)
        actions = choose_actions(equal, np.zeros(size, np.float32), mask, form, self.generator)
        if size:
            actions.continuous = self.generator.uniform(-1, 1, (rows, size)).astype(np.float32)
            actions.raw = np.arctanh(np.clip(actions.continuous, -0.999999, 0.999999))
        return actions
