"""The networks of Soft Actor-Critic: actor, twin critics and their targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from agents_core.contracts.encoder import ChosenEncoder
from agents_core.errors import UserError
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.initialisation import torch_generator
from agents_core.options import NetworkConfig
from agents_core.spec import BehaviorSpec
from torch import Tensor, nn

from agents_sac.critics import Critics


class SoftActorCritic:
    """Actor, critics and target critics over the same observations and normalisers.

    Attributes:
        actor: Its continuous actions are a Gaussian whose deviation depends on the state, squashed by tanh.
        critics: Learn.
        targets: Follow the critics slowly.
    """

    def __init__(
        self,
        behavior: str,
        spec: BehaviorSpec,
        config: NetworkConfig,
        num_signals: int,
        device: torch.device,
        seed: np.random.SeedSequence,
        encoders: Mapping[str, ChosenEncoder],
    ) -> None:
        """Draw first weights from children of `seed`.

        Raises:
            UserError: SAC cannot act so.
        """
        _check(behavior, spec)
        actor_seed, critic_seed = seed.spawn(2)
        # The values of an actor-critic network are not wanted: its critic shares the body and has no heads.
        only_actor = config.model_copy(
            update={"std": "state", "squash": spec.action.continuous_size > 0, "shared": True}
        )
        self.actor = ActorCritic(spec, only_actor, 0, device, torch_generator(actor_seed), encoders)
        self.critics = Critics(
            spec, config, num_signals, self.actor.normalisers, device, torch_generator(critic_seed), encoders
        )
        self.targets = Critics(
            spec, config, num_signals, self.actor.normalisers, device, torch_generator(critic_seed), encoders
        )
        self.targets.requires_grad_(False)
        self.follow(1.0)

    @torch.no_grad()
    def follow(self, tau: float) -> None:
        """Move the targets: θ' ← θ' + τ (θ - θ')."""
        self.targets.flat.values.lerp_(self.critics.flat.values, tau)

    def critic_state(self) -> dict[str, Any]:
        """Weights of critics and targets."""
        return {"critics": _weights(self.critics), "targets": _weights(self.targets)}

    def load_critic_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `critic_state` gave.

        Raises:
            ValueError: It belongs to other networks.
        """
        _load_weights(self.critics, state["critics"])
        _load_weights(self.targets, state["targets"])


def _check(behavior: str, spec: BehaviorSpec) -> None:
    if spec.action.continuous_size and not spec.action.bounded:
        raise UserError(
            f"behavior {behavior!r}: SAC brings continuous actions into [-1, 1] by tanh, but these have no bounds. "
            "Give the environment a bounded action space, or use a trainer without squashing, such as ppo"
        )


def _weights(module: nn.Module) -> dict[str, Tensor]:
    return {name: parameter.detach().clone().contiguous() for name, parameter in module.named_parameters()}


@torch.no_grad()
def _load_weights(module: nn.Module, weights: Mapping[str, Any]) -> None:
    parameters = dict(module.named_parameters())
    found = {name: tuple(weight.shape) for name, weight in weights.items()}
    expected = {name: tuple(parameter.shape) for name, parameter in parameters.items()}
    if found != expected:
        raise ValueError(f"the saved critics have the weights {found}, these have {expected}")
    for name, parameter in parameters.items():
        parameter.copy_(torch.as_tensor(weights[name]))
