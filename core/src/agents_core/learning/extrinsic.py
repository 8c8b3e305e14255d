"""The environment's own reward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from agents_core.columns import Batch
from agents_core.contracts.reward_signal import RewardSignal, RewardSignalContext
from agents_core.learning.extrinsic_config import ExtrinsicConfig
from agents_core.learning.return_scale import ReturnScale

REWARD_LIMIT = 10.0
"""Normalised rewards are clipped to [-REWARD_LIMIT, REWARD_LIMIT]."""


class ExtrinsicReward(RewardSignal):
    """Reward and group reward of each transition, normalised by the scale of the return if asked for."""

    def __init__(self, context: RewardSignalContext[ExtrinsicConfig]) -> None:
        self.strength = context.config.strength
        self.gamma = context.config.gamma
        self._scale = ReturnScale(self.gamma) if context.config.normalize else None

    def observe(self, batch: Batch) -> None:
        if self._scale is not None:
            self._scale.update(batch, _reward(batch).cpu().numpy())

    def evaluate(self, batch: Batch) -> Tensor:
        reward = _reward(batch)
        if self._scale is None:
            return reward
        return (reward * self._scale.factor).clamp(-REWARD_LIMIT, REWARD_LIMIT)

    def state_dict(self) -> dict[str, Any]:
        return {} if self._scale is None else self._scale.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if self._scale is None:
            super().load_state_dict(state)
        else:
            self._scale.load_state_dict(state)


def _reward(batch: Batch) -> Tensor:
    reward = batch["reward"]
    return reward + batch["group_reward"] if "group_reward" in batch else reward
