"""Losses by hand on a few numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from agents_core.learning.losses import (
    approximate_kl,
    clip_fraction,
    clipped_policy_loss,
    explained_variance,
    normalise_advantages,
    value_loss,
)

RATIO = torch.tensor([1.5, 0.5, 1.5, 0.5, 1.1])
ADVANTAGE = torch.tensor([1.0, 1.0, -1.0, -1.0, 2.0])


def test_the_policy_loss_takes_the_worse_of_clipped_and_unclipped() -> None:
    # min(ρA, clip(ρ)A) = 1.2, 0.5, -1.5, -0.8, 2.2
    assert clipped_policy_loss(RATIO, ADVANTAGE, 0.2).item() == pytest.approx(-(1.2 + 0.5 - 1.5 - 0.8 + 2.2) / 5)


def test_a_ratio_past_the_clip_range_in_its_favour_has_no_gradient() -> None:
    ratio = RATIO.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(clipped_policy_loss(ratio, ADVANTAGE, 0.2), ratio)
    assert gradient.tolist() == pytest.approx([0, -0.2, 0.2, 0, -0.4])


def test_clip_fraction_counts_ratios_outside() -> None:
    assert clip_fraction(RATIO, 0.2).item() == pytest.approx(0.8)


def test_value_loss_is_the_mean_over_rows_and_heads() -> None:
    values, returns = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[0.0, 2.0], [3.0, 1.0]])
    assert value_loss(values, returns, values, None).item() == pytest.approx((1 + 9) / 4)


def test_value_clipping_acts() -> None:
    old, returns = torch.zeros(4, 1), torch.tensor([[3.0], [0.3], [-1.0], [0.1]])
    values = torch.tensor([[1.0], [1.0], [1.0], [0.15]]).requires_grad_()
    # Held at 0.2: errors (3 - 0.2)², max(0.7², 0.1²), max(2², 1.2²); the last value did not move far.
    loss = value_loss(values, returns, old, 0.2)
    assert loss.item() == pytest.approx((2.8**2 + 0.7**2 + 4 + 0.05**2) / 4)
    (gradient,) = torch.autograd.grad(loss, values)
    assert gradient[:, 0].tolist() == pytest.approx([0, 2 * 0.7 / 4, 2 * 2 / 4, 2 * 0.05 / 4], abs=1e-6)


def test_kl_estimate_by_hand_and_never_negative() -> None:
    log_ratio = torch.tensor([0.5, -0.5])
    assert approximate_kl(log_ratio).item() == pytest.approx((math.exp(0.5) - 1.5 + math.exp(-0.5) - 0.5) / 2, abs=1e-6)
    assert approximate_kl(torch.zeros(3)).item() == 0
    assert approximate_kl(torch.randn(1000)).item() > 0


def test_explained_variance() -> None:
    returns = np.array([1.0, 2.0, 3.0, 4.0])
    assert explained_variance(returns, returns) == 1
    assert explained_variance(np.full(4, 7.0), returns) == 0
    assert explained_variance(-returns, returns) == pytest.approx(1 - 4)
    assert explained_variance(returns, np.full(4, 7.0)) is None


def test_normalised_advantages_have_mean_0_and_deviation_1() -> None:
    result = normalise_advantages(np.array([1.0, 2.0, 3.0, 6.0]))
    assert result.mean() == pytest.approx(0)
    assert result.std() == pytest.approx(1)


@pytest.mark.parametrize("advantages", [[5.0], [0.0, 0.0], [0.1, 0.1, 0.1], [1e9, 1e9]])
def test_advantages_without_spread_normalise_to_0(advantages: list[float]) -> None:
    np.testing.assert_allclose(normalise_advantages(np.array(advantages)), 0, atol=1e-6)
