"""Policy-gradient and value losses: pure functions of tensors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


def clipped_policy_loss(ratio: Tensor, advantage: Tensor, epsilon: float) -> Tensor:
    """PPO's clipped surrogate (Schulman et al. 2017, equation 7), negated and averaged: a scalar.

    Args:
        ratio: float32[n], π(a|s) / π_old(a|s), joint over all action dimensions.
        advantage: float32[n].
        epsilon: How far the ratio may leave 1 before its gradient stops.
    """
    return -torch.min(ratio * advantage, ratio.clamp(1 - epsilon, 1 + epsilon) * advantage).mean()


def value_loss(values: Tensor, returns: Tensor, old_values: Tensor, clip_range: float | None) -> Tensor:
    """Mean squared error over rows and value heads: a scalar.

    With `clip_range`, a value that moved further than that from `old_values` is held there, and the larger error
    counts, so that no step gains by moving further.

    Args:
        values, returns, old_values: float32[n, signals].
        clip_range: None = plain error.
    """
    error = (values - returns).square()
    if clip_range is not None:
        clipped = old_values + (values - old_values).clamp(-clip_range, clip_range)
        error = torch.max(error, (clipped - returns).square())
    return error.mean()


def approximate_kl(log_ratio: Tensor) -> Tensor:
    """Estimate of KL(π_old ‖ π) by the mean of (ρ - 1) - log ρ (Schulman 2020): never negative, little variance."""
    return ((log_ratio.exp() - 1) - log_ratio).mean()


def clip_fraction(ratio: Tensor, epsilon: float) -> Tensor:
    """Part of the rows whose ratio left [1 - ε, 1 + ε]."""
    return ((ratio - 1).abs() > epsilon).float().mean()


def explained_variance(values: npt.NDArray[np.floating], returns: npt.NDArray[np.floating]) -> float | None:
    """1 - Var(returns - values) / Var(returns): 1 is perfect, 0 a constant; None where returns are equal."""
    variance = float(np.var(returns, dtype=np.float64))
    if variance == 0:
        return None
    return 1 - float(np.var(np.subtract(returns, values, dtype=np.float64))) / variance


def normalise_advantages(advantages: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Mean 0 and deviation 1; all 0 where they are all equal."""
    centred = advantages - advantages.mean()
    normalised: npt.NDArray[np.float64] = centred / (centred.std() + 1e-8)
    return normalised
