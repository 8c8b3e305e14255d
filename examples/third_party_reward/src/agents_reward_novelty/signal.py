"""Rewards what was seldom seen, by counting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from agents_core.columns import Batch
from agents_core.contracts.reward_signal import RewardSignal, RewardSignalContext
from torch import Tensor

from agents_reward_novelty.config import NoveltyConfig


class NoveltyReward(RewardSignal):
    """1 / √N(s'), where N(s') counts how often anything like the next observation was seen (Bellemare et al. 2016).

    Two observations are alike where all of their numbers, divided by `bin_width`, have the same floor. What is alike
    has one counter, chosen by a random hash (Carter & Wegman 1979), so that the table stays small (Tang et al. 2017).
    """

    def __init__(self, context: RewardSignalContext[NoveltyConfig]) -> None:
        config = context.config
        self.strength, self.gamma = config.strength, config.gamma
        self._bin_width = config.bin_width
        size = sum(observation.size for observation in context.spec.observations)
        odd = 2 * np.random.default_rng(context.seed).integers(0, 2**62, size) + 1
        self._multipliers = torch.as_tensor(odd, device=context.device)
        self._counts = torch.zeros(config.table_size, dtype=torch.int64, device=context.device)

    def observe(self, batch: Batch) -> None:
        """Count each transition."""
        counters = self._counters(batch)
        self._counts.index_add_(0, counters, torch.ones_like(counters))

    def evaluate(self, batch: Batch) -> Tensor:
        """float32[n]; 1 for what was not counted yet."""
        return self._counts[self._counters(batch)].clamp(min=1).float().rsqrt()

    def _counters(self, batch: Batch) -> Tensor:
        """Each row's place in the table, int64[n]."""
        numbers = torch.cat([observation.flatten(1).double() for observation in batch.next_observations], dim=1)
        bins = torch.floor(numbers / self._bin_width).long()
        # Σ aᵢ bᵢ mod 2⁶⁴; its low bits are no good hash of the bins, its high ones are.
        hashes = (bins * self._multipliers).sum(dim=1) >> 32
        return hashes % len(self._counts)

    def state_dict(self) -> dict[str, Any]:
        return {"multipliers": self._multipliers.clone(), "counts": self._counts.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._multipliers.copy_(torch.as_tensor(state["multipliers"]))
        self._counts.copy_(torch.as_tensor(state["counts"]))
