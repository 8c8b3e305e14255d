"""The reward signal `curiosity`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from agents_core.columns import Batch
from agents_core.contracts.reward_signal import RewardSignal, RewardSignalContext
from agents_core.learning.optimiser import FlatAdam
from agents_core.learning.parts import in_parts
from agents_core.learning.return_scale import ReturnScale
from agents_core.networks.flat import FlatParameters
from agents_core.networks.module_state import load_module_state, module_state
from torch import Tensor

from agents_reward_curiosity.config import CuriosityConfig
from agents_reward_curiosity.model import CuriosityModel


class CuriosityReward(RewardSignal):
    """Pays for what the forward model did not foresee: at most 1 after `strength`, and nothing before its first update.

    An untrained model errs everywhere alike, which would only be noise.
    """

    def __init__(self, context: RewardSignalContext[CuriosityConfig]) -> None:
        config = context.config
        self.strength = config.strength
        self.gamma = config.gamma
        self.ignores_termination = config.ignores_termination
        self._spec = context.spec
        self._learning_rate = config.learning_rate
        self._model = CuriosityModel(context)
        self._optimiser = FlatAdam(FlatParameters(self._model))
        self._normalize = config.normalize
        self._scale = ReturnScale(config.gamma, crosses_episodes=config.ignores_termination)
        strongest = max(value for value in (0.0, config.strength.initial, config.strength.final) if value is not None)
        self._highest = 1 / strongest if strongest else float("inf")

    def observe(self, batch: Batch) -> None:
        self._model.encoder.observe(batch.observations)
        if self._normalize and self._optimiser.steps:
            self._scale.update(batch, self._surprise(batch).cpu().numpy())

    def evaluate(self, batch: Batch) -> Tensor:
        if not self._optimiser.steps:
            return torch.zeros_like(batch["reward"])
        surprise = self._surprise(batch)
        rewards = surprise * self._scale.factor if self._normalize else surprise
        return rewards.clamp(max=self._highest)

    def _surprise(self, batch: Batch) -> Tensor:
        return in_parts(self._model.surprise, batch, self._spec)

    def update(self, minibatch: Batch) -> dict[str, float]:
        losses = self._model.losses(minibatch)
        self._optimiser.minimise(losses.total, self._learning_rate)
        return {"forward_loss": losses.forward.item(), "inverse_loss": losses.inverse.item()}

    def state_dict(self) -> dict[str, Any]:
        return {
            "model": module_state(self._model),
            "optimiser": self._optimiser.state_dict(),
            "scale": self._scale.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        load_module_state(self._model, state["model"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._scale.load_state_dict(state["scale"])
