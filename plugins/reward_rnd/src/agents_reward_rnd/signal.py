"""The reward signal `rnd`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents_core.columns import Batch
from agents_core.contracts.reward_signal import RewardSignal, RewardSignalContext
from agents_core.learning.optimiser import FlatAdam
from agents_core.learning.parts import in_parts
from agents_core.learning.return_scale import ReturnScale
from agents_core.networks.flat import FlatParameters
from agents_core.networks.module_state import load_module_state, module_state
from torch import Tensor

from agents_reward_rnd.config import RNDConfig
from agents_reward_rnd.model import RNDModel


class RNDReward(RewardSignal):
    """Pays for what was seen after an action as far as the trained network does not yet know the fixed one there."""

    def __init__(self, context: RewardSignalContext[RNDConfig]) -> None:
        config = context.config
        self.strength = config.strength
        self.gamma = config.gamma
        self.ignores_termination = config.ignores_termination
        self._spec = context.spec
        self._learning_rate = config.learning_rate
        self._model = RNDModel(context)
        self._optimiser = FlatAdam(FlatParameters(self._model.predictor))
        self._normalize = config.normalize
        self._scale = ReturnScale(config.gamma, crosses_episodes=config.ignores_termination)

    def observe(self, batch: Batch) -> None:
        self._model.observe(batch)
        if self._normalize:
            self._scale.update(batch, self._error(batch).cpu().numpy())

    def evaluate(self, batch: Batch) -> Tensor:
        error = self._error(batch)
        return error * self._scale.factor if self._normalize else error

    def _error(self, batch: Batch) -> Tensor:
        return in_parts(self._model.error, batch, self._spec)

    def update(self, minibatch: Batch) -> dict[str, float]:
        loss = self._model.error(minibatch).mean()
        self._optimiser.minimise(loss, self._learning_rate)
        return {"loss": loss.item()}

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
