"""A reward signal that remembers what a trainer asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from agents_core.columns import Batch
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.schedules import Schedule

Row = tuple[float, ...]


class RecordingSignal(RewardSignal):
    """Gives every transition the same reward.

    Attributes:
        observed: First observation of each row, in the order of the calls.
        unseen: Rows that were evaluated before they were observed.
        evaluations: Calls of `evaluate`.
        updates: Calls of `update`; the state.
    """

    def __init__(self, reward: float = 1.0, strength: float = 1.0, gamma: float = 0.9) -> None:
        self.strength = Schedule(strength)
        self.gamma = gamma
        self.observed: list[Row] = []
        self.unseen: list[Row] = []
        self.evaluations = 0
        self.updates = 0
        self._reward = reward
        self._known: set[Row] = set()

    def observe(self, batch: Batch) -> None:
        rows = _rows(batch)
        self.observed += rows
        self._known.update(rows)

    def evaluate(self, batch: Batch) -> torch.Tensor:
        self.evaluations += 1
        self.unseen += [row for row in _rows(batch) if row not in self._known]
        return torch.full((len(batch),), self._reward, device=batch["reward"].device)

    def update(self, minibatch: Batch) -> dict[str, float]:
        assert len(minibatch)
        self.updates += 1
        return {"updates": float(self.updates)}

    def state_dict(self) -> dict[str, Any]:
        return {"updates": self.updates}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.updates = int(state["updates"])


def _rows(batch: Batch) -> list[Row]:
    return [tuple(row) for row in batch["obs.0"].flatten(1).tolist()]
