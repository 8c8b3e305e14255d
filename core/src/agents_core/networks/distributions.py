"""Log-probabilities and entropies of actions, in torch.

Outputs of an actor are, side by side, the means of the continuous dimensions (a diagonal Gaussian), the logarithms of
their deviations where those depend on the state, and the logits of each discrete branch. Parts are independent, so that
log-probabilities and entropies add up over dimensions and branches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agents_core.spec import ActionSpec

ILLEGAL = -1e30
"""Logit of an action that the mask forbids: its probability is exactly 0, and 0 · ILLEGAL is 0, not NaN."""

LOG_STD_RANGE = (-20.0, 2.0)
"""Where log σ stays that depends on the state."""

_NODES, _NODE_WEIGHTS = np.polynomial.hermite.hermgauss(32)


@dataclass(frozen=True, slots=True)
class ActionForm:
    """How outputs of an actor become actions.

    Attributes:
        spec: Sizes of the parts.
        std_by_state: Whether log σ stands among the outputs; else it is a parameter of its own.
        squash: Whether tanh brings samples into [-1, 1]; else they are clipped.
    """

    spec: ActionSpec
    std_by_state: bool = False
    squash: bool = False

    @property
    def gaussian_size(self) -> int:
        """Outputs before the first logit."""
        return self.spec.continuous_size * (2 if self.std_by_state else 1)

    @property
    def outputs(self) -> int:
        """Outputs of an actor."""
        return self.gaussian_size + self.spec.mask_size

    def gaussian(self, outputs: Any, log_std: Any) -> tuple[Any, Any]:
        """Mean [n, continuous] and log σ ([n, continuous], or [continuous] for all rows) of arrays or tensors."""
        size = self.spec.continuous_size
        if self.std_by_state:
            log_std = outputs[:, size : 2 * size].clip(*LOG_STD_RANGE)
        return outputs[:, :size], log_std


@dataclass(frozen=True, slots=True)
class ActionColumns:
    """What the log-probability of actions needs of a batch.

    Attributes:
        raw: float32[n, continuous], the samples before clipping or squashing.
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
    outputs: Tensor, log_std: Tensor, actions: ActionColumns, form: ActionForm
) -> tuple[Tensor, Tensor]:
    """Joint log-probability of the actions and joint entropy, float32[n] each.

    Args:
        outputs: float32[n, form.outputs], of the actor.
        log_std: float32[continuous]; without meaning where log σ stands among the outputs.
        actions: What was done.
        form: What the outputs are.
    """
    log_prob = torch.zeros(len(outputs), dtype=outputs.dtype, device=outputs.device)
    entropy = torch.zeros_like(log_prob)
    if form.spec.continuous_size:
        mean, log_std = form.gaussian(outputs, log_std)
        log_prob = log_prob + _gaussian_log_prob(mean, log_std, actions.raw)
        entropy = entropy + _gaussian_entropy(log_std)
        if form.squash:
            # The density of tanh(x) is that of x divided by the slope of tanh.
            log_prob = log_prob - log_tanh_slope(actions.raw).sum(dim=1)
            entropy = entropy + _mean_log_tanh_slope(mean, log_std).sum(dim=1)
    logits_of_all = outputs[:, form.gaussian_size :]
    start = 0
    for branch, size in enumerate(form.spec.discrete_branches):
        logits = logits_of_all[:, start : start + size]
        if actions.mask is not None:
            logits = logits.masked_fill(~actions.mask[:, start : start + size], ILLEGAL)
        log_probs = torch.log_softmax(logits, dim=1)
        log_prob = log_prob + log_probs.gather(1, actions.discrete[:, branch : branch + 1]).squeeze(1)
        entropy = entropy - (log_probs.exp() * log_probs).sum(dim=1)
        start += size
    return log_prob, entropy


def _gaussian_log_prob(mean: Tensor, log_std: Tensor, value: Tensor) -> Tensor:
    # Σ -½ ((x - μ) / σ)² - log σ - ½ log 2π
    scaled = (value - mean) * torch.exp(-log_std)
    return -0.5 * scaled.square().sum(dim=1) - log_std.sum(dim=-1) - 0.5 * math.log(2 * math.pi) * log_std.shape[-1]


def _gaussian_entropy(log_std: Tensor) -> Tensor:
    # Σ log σ + ½ log 2πe
    return log_std.sum(dim=-1) + 0.5 * math.log(2 * math.pi * math.e) * log_std.shape[-1]


def log_tanh_slope(value: Tensor) -> Tensor:
    """log(1 - tanh²(x)) of each number, without the rounding to log 0 of the plain formula."""
    # 1 - tanh²(x) = 4 e^(-2x) / (1 + e^(-2x))²
    return 2 * (math.log(2) - value - torch.nn.functional.softplus(-2 * value))


def _mean_log_tanh_slope(mean: Tensor, log_std: Tensor) -> Tensor:
    """Mean of log(1 - tanh²(x)) over x ~ N(μ, σ²) by Gauss-Hermite quadrature, in the shape of `mean`."""
    nodes = torch.as_tensor(_NODES * math.sqrt(2), dtype=mean.dtype, device=mean.device)
    weights = torch.as_tensor(_NODE_WEIGHTS / math.sqrt(math.pi), dtype=mean.dtype, device=mean.device)
    return log_tanh_slope(mean[..., None] + log_std.exp()[..., None] * nodes) @ weights
