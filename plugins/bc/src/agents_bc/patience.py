"""Ending a training that gets no better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


class Patience:
    """Counts scores since the best one, and keeps the weights that had it.

    Args:
        limit: Scores without a better one after which it is over; None = never, and no weights are kept.

    Attributes:
        best_score: The highest so far; minus infinity before the first.
        best_weights: float32[p], of the best score; empty before the first.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._count = 0
        self.best_score = float("-inf")
        self.best_weights = torch.empty(0)

    @property
    def is_over(self) -> bool:
        return self._limit is not None and self._count >= self._limit

    def note(self, score: float, weights: Tensor) -> None:
        """Take a score, where higher is better, and the weights that have it."""
        if score > self.best_score:
            self.best_score, self._count = score, 0
            if self._limit is not None:
                self.best_weights = weights.clone()
        else:
            self._count += 1

    def state_dict(self) -> dict[str, Any]:
        # Not every file format has a number for minus infinity.
        is_begun = self.best_score > float("-inf")
        return {
            "count": self._count,
            "best_score": self.best_score if is_begun else None,
            "best_weights": self.best_weights.clone(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._count = int(state["count"])
        self.best_score = float("-inf") if state["best_score"] is None else state["best_score"]
        self.best_weights = torch.as_tensor(state["best_weights"]).clone()
