"""Rewards that a signal may not give are refused with its name."""

from __future__ import annotations

import pytest
import torch
from agents_core.columns import Batch
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.errors import NonFiniteError
from agents_core.learning.signal_rewards import BadRewardsError, signal_rewards


class Fixed(RewardSignal):
    def __init__(self, rewards: object) -> None:
        self._rewards = rewards

    def evaluate(self, batch: Batch) -> torch.Tensor:
        return self._rewards if len(batch) else None  # type: ignore[return-value]


BATCH = Batch({"reward": torch.zeros(4)}, 4)


@pytest.mark.parametrize(
    ("rewards", "found"),
    [
        (torch.zeros(3), r"float32\[3\]"),
        (torch.zeros(4, 1), r"float32\[4, 1\]"),
        (torch.zeros(4, dtype=torch.float64), r"float64\[4\]"),
        ([0.0] * 4, "list"),
    ],
)
def test_what_is_no_float32_of_one_number_a_transition_is_refused(rewards: object, found: str) -> None:
    with pytest.raises(BadRewardsError, match=rf"'bonus' \(.*:Fixed\).*{found}.*float32\[4\]"):
        signal_rewards("bonus", Fixed(rewards), BATCH, "here")


def test_a_reward_that_is_not_finite_names_its_signal() -> None:
    with pytest.raises(NonFiniteError, match="'bonus'"):
        signal_rewards("bonus", Fixed(torch.tensor([0.0, 1.0, float("nan"), 0.0])), BATCH, "here")


def test_rewards_that_carry_gradients_are_taken_without_them() -> None:
    rewards = torch.arange(4.0, requires_grad=True) * 2
    assert signal_rewards("bonus", Fixed(rewards), BATCH, "here").tolist() == [0, 2, 4, 6]
