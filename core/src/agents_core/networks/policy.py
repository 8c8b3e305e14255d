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
from agents_core.networks.plain_mlp import PlainInputs, PlainMlp, actor_mlp
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
        self._plain: tuple[PlainInputs, PlainMlp] | None = None
        if network.is_plain:
            self._plain = PlainInputs(network), actor_mlp(network)
            self._log_std: Floats = network.log_std.detach().numpy()

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

    def _outputs(self, observations: Sequence[Array]) -> tuple[Floats, Floats]:
        """Outputs of the actor, float32[n, continuous + sum of branches], and log σ, float32[continuous]."""
        if self._plain is None:
            return self._outputs_of_torch(observations)
        inputs, actor = self._plain
        inputs.fill(observations, actor.inputs(len(observations[0])))
        return actor.forward().T, self._log_std

    @torch.inference_mode()
    def _outputs_of_torch(self, observations: Sequence[Array]) -> tuple[Floats, Floats]:
        device = self.network.log_std.device
        outputs = self.network.act([torch.as_tensor(observation, device=device) for observation in observations])
        return outputs.cpu().numpy(), self.network.log_std.cpu().numpy()
