"""Log-probabilities and entropies of actions, in torch.

Outputs of an actor are, side by side, the means of the continuous dimensions (a diagonal Gaussian with a deviation that
does not depend on the observation) and the logits of each discrete branch. Parts are independent, so that
log-probabilities and entropies add up over dimensions and branches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from agents_core.spec import ActionSpec

ILLEGAL = -1e30
"""Logit of an action that the mask forbids: its probability is exactly 0, and 0 · ILLEGAL is 0, not NaN."""


@dataclass(frozen=True, slots=True)
class ActionColumns:
    """What the log-probability of actions needs of a batch.

    Attributes:
        raw: float32[n, continuous], the unclipped samples.
        discrete: int64[n, branches].
        mask: bool[n, sum of branches], True = allowed; None = everything is.
    """

    raw: Tensor
    discrete: Tensor
    mask: Tensor | None

    def rows(self, part: slice) -> ActionColumns:
        """The given rows, as views."""
        return ActionColumns(self.raw[part], self.discrete[part], None if self.mask is None else self.mask[part])


def log_prob_and_entropy(
    outputs: Tensor, log_std: Tensor, actions: ActionColumns, spec: ActionSpec
) -> tuple[Tensor, Tensor]:
    """Joint log-probability of the actions and joint entropy, float32[n] each.

    Args:
        outputs: float32[n, continuous + sum of branches], of the actor.
        log_std: float32[continuous].
        actions: What was done.
        spec: Sizes of the parts.
    """
    log_prob = torch.zeros(len(outputs), device=outputs.device)
    entropy = torch.zeros_like(log_prob)
    if spec.continuous_size:
        mean = outputs[:, : spec.continuous_size]
        log_prob = log_prob + _gaussian_log_prob(mean, log_std, actions.raw)
        entropy = entropy + _gaussian_entropy(log_std)
    start = spec.continuous_size
    for branch, size in enumerate(spec.discrete_branches):
        logits = outputs[:, start : start + size]
        if actions.mask is not None:
            offset = start - spec.continuous_size
            logits = logits.masked_fill(~actions.mask[:, offset : offset + size], ILLEGAL)
        log_probs = torch.log_softmax(logits, dim=1)
        log_prob = log_prob + log_probs.gather(1, actions.discrete[:, branch : branch + 1]).squeeze(1)
        entropy = entropy - (log_probs.exp() * log_probs).sum(dim=1)
        start += size
    return log_prob, entropy


def _gaussian_log_prob(mean: Tensor, log_std: Tensor, value: Tensor) -> Tensor:
    # Σ -½ ((x - μ) / σ)² - log σ - ½ log 2π
    scaled = (value - mean) * torch.exp(-log_std)
    return -0.5 * scaled.square().sum(dim=1) - log_std.sum() - 0.5 * math.log(2 * math.pi) * len(log_std)


def _gaussian_entropy(log_std: Tensor) -> Tensor:
    # Σ log σ + ½ log 2πe
    return log_std.sum() + 0.5 * math.log(2 * math.pi * math.e) * len(log_std)
