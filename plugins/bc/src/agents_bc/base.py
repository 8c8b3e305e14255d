"""What trainers that clone have in common: a policy that is brought to what somebody executed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from agents_core.contracts.trainer import Trainer, TrainerContext
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.initialisation import torch_generator
from agents_core.networks.policy import NetworkPolicy

from agents_bc.config import BCConfig


class CloningTrainer(Trainer):
    """Has a policy and no values; learns without rewards."""

    needs = "nothing"

    def __init__(self, context: TrainerContext[BCConfig]) -> None:
        self._context = context
        self._config = context.config
        weights, actions = context.seed.spawn(2)
        # There are no values to learn: a shared body leaves nothing of the critic.
        network = context.network.model_copy(update={"shared": True})
        self._network = ActorCritic(
            context.spec,
            network,
            0,
            context.device,
            torch_generator(weights),
            context.encoders,
            initial_std=context.config.initial_std,
        )
        self.policy: NetworkPolicy = NetworkPolicy(self._network, np.random.default_rng(actions))
        self._step = 0

    def _place(self) -> str:
        return f"behavior {self._context.behavior!r}, step {self._step}"

    def policy_state(self) -> dict[str, Any]:
        return self._network.actor_state()

    def load_policy_state(self, state: Mapping[str, Any]) -> None:
        self._network.load_actor_state(state)
