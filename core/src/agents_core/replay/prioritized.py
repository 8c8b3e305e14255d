"""Prioritised experience replay (Schaul et al. 2016, https://arxiv.org/abs/1511.05952), proportional variant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch

from agents_core.columns import Array
from agents_core.contracts.buffer import BufferContext
from agents_core.errors import NonFiniteError
from agents_core.replay.buffer import Float32s, Int64s, ReplayBuffer
from agents_core.replay.config import PrioritizedReplayConfig
from agents_core.replay.sum_tree import SumTree

LEAST = 1e-6
"""Added to each error, so that every transition may be sampled again."""


class PrioritizedReplayBuffer(ReplayBuffer):
    """Samples transition i with probability P(i) = p_i^alpha / sum_k p_k^alpha, stratified, and with replacement.

    p_i is the absolute error that `update_priorities` last told of it, plus a little; for a new one it is the largest
    that there ever was. Batches come with `weight`, (N P(i))^-beta divided by the largest of the batch; beta follows
    its schedule over the transitions added. Sequences start at rows drawn like that and carry the weight of their
    first row.
    """

    BESIDE = 4 + SumTree.BYTES

    def __init__(self, context: BufferContext[PrioritizedReplayConfig]) -> None:
        super().__init__(context)
        self._alpha = context.config.alpha
        self._beta = context.config.beta
        self._max_steps = context.max_steps
        self._priorities: Float32s = np.zeros(self._rows.ring, np.float32)
        self._tree = SumTree(self._rows.ring)
        self._highest = 1.0
        self._known = 0  # Transitions from this number on are new and have no priority yet.

    def update_priorities(self, rows: torch.Tensor, errors: torch.Tensor) -> None:
        """Tell the errors of sampled rows; rows that were dropped since the last sample are left out.

        Raises:
            NonFiniteError: An error is NaN or infinite.
        """
        places = rows.cpu().numpy()
        priorities = errors.detach().cpu().numpy().astype(np.float32) + np.float32(LEAST)
        if not np.isfinite(priorities).all():
            raise NonFiniteError("an error that a priority is to follow is not finite")
        age = (self._rows.total - 1 - places) % self._rows.ring
        is_same = (age >= self._rows.total - self._known) & (age < len(self))
        self._set(places[is_same], priorities[is_same])
        self._highest = max(self._highest, float(priorities.max(initial=0.0)))

    def _set(self, places: Int64s, priorities: Float32s) -> None:
        self._priorities[places] = priorities
        self._tree[places] = self._priorities[places].astype(np.float64) ** self._alpha

    def _admit_new(self) -> None:
        """Give transitions that were added since the last time the highest priority."""
        rows = self._rows
        if self._known == rows.total:
            return
        oldest = rows.total - len(rows)
        dropped = rows.rows_of(np.arange(max(0, self._known - rows.capacity, rows.total - rows.ring), oldest))
        self._tree[dropped] = 0.0
        new = rows.rows_of(np.arange(max(self._known, oldest), rows.total))
        self._set(new, np.full(len(new), self._highest, np.float32))
        self._known = rows.total

    def _draw(self, count: int, generator: np.random.Generator) -> tuple[Int64s, Float32s | None]:
        self._admit_new()
        total = self._tree.total
        rows = self._tree.find((np.arange(count) + generator.random(count)) * (total / count))
        beta = self._beta.value(self.stored.stop, self._max_steps)
        weight = (len(self) * (self._tree[rows] / total)) ** -beta
        return rows, (weight / weight.max()).astype(np.float32)

    def export_rest(self) -> dict[str, Any]:
        self._admit_new()
        places = self._rows.rows_of(np.arange(self._rows.total - len(self), self._rows.total))
        return {**super().export_rest(), "priorities": self._priorities[places], "highest": self._highest}

    def restore(self, pieces: Iterable[tuple[range, Mapping[str, Array]]], rest: Mapping[str, Any]) -> None:
        super().restore(pieces, rest)
        self._tree = SumTree(self._rows.ring)
        self._known = self._rows.total
        if "priorities" not in rest:  # Another kind of buffer saved them: to this one, all of them are new.
            self._known = self._rows.total - len(self)
            return
        self._highest = rest["highest"]
        if len(self):
            places = self._rows.rows_of(np.arange(self._rows.total - len(self), self._rows.total))
            self._set(places, rest["priorities"][-len(self) :])
