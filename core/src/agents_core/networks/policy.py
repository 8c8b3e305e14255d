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
        self.memory_size = network.memory_size
        self.generator = generator
        self._plain: tuple[PlainInputs, PlainMlp] | None = None
        if network.acts_plainly:
            self._plain = PlainInputs(network), actor_mlp(network)
            self._log_std: Floats = network.log_std.detach().numpy()

    def act(
        self,
        observations: Sequence[Array],
        action_mask: npt.NDArray[np.bool_] | None = None,
        *,
        memory: Floats | None = None,
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
        if self._plain is None:
            outputs, log_std, memory = self._outputs_of_torch(observations, memory)
        else:
            inputs, actor = self._plain
            inputs.fill(observations, actor.inputs(len(observations[0])))
            outputs, log_std, memory = actor.forward().T, self._log_std, None
        actions = choose_actions(outputs, log_std, action_mask, self.network.form, generator)
        actions.memory = memory
        return actions

    @torch.inference_mode()
    def _outputs_of_torch(
        self, observations: Sequence[Array], memory: Floats | None
    ) -> tuple[Floats, Floats, Floats | None]:
        """Outputs of the actor, float32[n, form.outputs], log σ, and the next memory where there is one."""
        network = self.network
        device = network.log_std.device
        seen = [torch.as_tensor(observation, device=device) for observation in observations]
        log_std = network.log_std.cpu().numpy()
        if network.actor_memory is None:
            return network.act(seen).cpu().numpy(), log_std, None
        if memory is None:
            memory = np.zeros((len(observations[0]), self.memory_size), np.float32)
        hidden, state = network.actor_memory.step(network.actor_body(seen), torch.as_tensor(memory, device=device))
        outputs: Floats = network.action_head(hidden).cpu().numpy()
        return outputs, log_std, state.cpu().numpy()
