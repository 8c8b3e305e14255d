"""The policy of an actor-critic network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from agents_core.columns import Array
from agents_core.contracts.environment import Actions
from agents_core.contracts.policy import Policy
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.sampling import Floats, choose_actions


class NetworkPolicy(Policy):
    """Acts by a network's actor; noise comes from a NumPy generator whatever computes the outputs.

    Attributes:
        network: Shared with the trainer, which changes it in place.
        generator: Source of the samples in training.
    """

    def __init__(self, network: ActorCritic, generator: np.random.Generator) -> None:
        self.spec = network.spec
        self.network = network
        self.generator = generator

    def act(
        self,
        observations: Sequence[Array],
        action_mask: npt.NDArray[np.bool_] | None = None,
        *,
        deterministic: bool = False,
        generator: np.random.Generator | None = None,
    ) -> Actions:
        """See `Policy.act`.

        Raises:
            EnvironmentFailedError: The mask leaves an agent nothing to do.
        """
        if deterministic:
            generator = None
        elif generator is None:
            generator = self.generator
        outputs, log_std = self._outputs(observations)
        return choose_actions(outputs, log_std, action_mask, self.spec.action, generator)

    @torch.inference_mode()
    def _outputs(self, observations: Sequence[Array]) -> tuple[Floats, Floats]:
        device = self.network.log_std.device
        outputs = self.network.act([torch.as_tensor(observation, device=device) for observation in observations])
        return outputs.cpu().numpy(), self.network.log_std.cpu().numpy()
