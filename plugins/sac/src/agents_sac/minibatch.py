"""From sampled rows to what the losses need: rewards of the signals, and how much of the next value counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from agents_core.columns import Batch
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.learning.signal_rewards import signal_rewards
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Minibatch:
    """Rows to learn from.

    Attributes:
        batch: n rows: `obs.<i>`, `action.*`, and `next_obs.<i>` where the next value is taken.
        rewards: float32[n, signals], scaled by strength; over several steps, discounted and summed.
        discounts: float32[n, signals], factor on the value at `next_obs.<i>`: 0 where the task ended the episode.
        weights: float32[n], of each row in the critics' loss; None = 1.
    """

    batch: Batch
    rewards: Tensor
    discounts: Tensor
    weights: Tensor | None


class SignalRewards:
    """Rewards of all signals that have a value, evaluated afresh for each minibatch.

    Args:
        signals: By name.
        place: Behavior, for messages.
    """

    def __init__(self, signals: Mapping[str, RewardSignal], place: str) -> None:
        self._signals = signals
        self._place = place
        # The entropy needs a value to be part of, even where no reward counts.
        self._valued = [name for name, signal in signals.items() if not signal.strength.is_zero] or list(signals)
        self._gammas = [self._signals[name].gamma for name in self._valued]
        self._cut = [not self._signals[name].ignores_termination for name in self._valued]

    @property
    def count(self) -> int:
        """Signals that have a value."""
        return len(self._valued)

    def evaluate(self, batch: Batch, strengths: Mapping[str, float]) -> tuple[Tensor, dict[str, float]]:
        """Scaled rewards float32[n, signals] of the signals with a value, and statistics of all.

        Args:
            batch: n transitions.
            strengths: Factor of each signal now.
        """
        stats, columns, device = {}, [], batch["reward"].device
        for name, signal in self._signals.items():
            raw = signal_rewards(name, signal, batch, self._place)
            mean = float(raw.mean())
            stats[f"reward/{name}/raw"] = mean
            stats[f"reward/{name}/scaled"] = mean * strengths[name]
            if name in self._valued:
                columns.append(torch.from_numpy(raw * np.float32(strengths[name])))
        rewards = torch.stack(columns, dim=1) if len(columns) != 1 else columns[0][:, None]
        return rewards.to(device), stats

    def one_step(self, batch: Batch, rewards: Tensor) -> Minibatch:
        """A minibatch of single transitions."""
        going_on = 1 - batch["terminated"].float()
        factors = [
            gamma * going_on if is_cut else torch.full_like(going_on, gamma)
            for gamma, is_cut in zip(self._gammas, self._cut, strict=True)
        ]
        return Minibatch(batch, rewards, torch.stack(factors, dim=1), optional(batch, "weight"))

    def several_steps(self, batch: Batch, rewards: Tensor, length: int) -> Minibatch:
        """A minibatch of the first rows of sequences, whose rewards are Σ γᵏ r over the rows that are there.

        Args:
            batch: Sequences of `length` rows one after another, with `is_valid`.
            rewards: float32[rows, signals].
            length: Rows of a sequence.
        """
        device = rewards.device
        count = len(batch) // length
        valid = batch["is_valid"].view(count, length)
        steps = valid.sum(dim=1)
        first = torch.arange(count, device=device) * length
        last = first + steps - 1
        gammas = torch.tensor(self._gammas, device=device)
        powers = gammas ** torch.arange(length, device=device)[:, None]
        # What stands in rows that are not there is anything, even NaN.
        kept = rewards.view(count, length, -1).masked_fill(~valid[:, :, None], 0.0)
        summed = (kept * powers).sum(dim=1)
        ended = batch["terminated"].index_select(0, last)[:, None] & torch.tensor(self._cut, device=device)
        discounts = gammas ** steps[:, None] * (~ended)
        weights = optional(batch, "weight")
        if weights is not None:
            weights = weights.index_select(0, first)
        return Minibatch(_joined(batch.take(first), batch.take(last)), summed, discounts, weights)


def _joined(first: Batch, last: Batch) -> Batch:
    """The rows of `first` with what was seen after those of `last`."""
    fields: dict[str, Callable[[], Tensor]] = {
        name: partial((last if name.startswith("next_") else first).__getitem__, name) for name in first
    }
    return Batch(fields, len(first))


def optional(batch: Batch, name: str) -> Tensor | None:
    """A field that not every batch has."""
    if name not in batch:
        return None
    return batch[name]
