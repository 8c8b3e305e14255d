"""Losses of behavioral cloning: how far a policy is from what an expert executed.

A policy executes its sample clipped to [-1, 1], or brought there by tanh, and a demonstration holds what was executed.
The two are compared in that scale: inside of the bounds by density; at a bound, where every sample beyond it looks the
same, by the probability of being there (the censored regression of Tobin 1958).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from agents_core.columns import Batch
from agents_core.networks.distributions import ILLEGAL, ActionForm, log_tanh_slope

LossName = Literal["nll", "mse"]

MOST_SQUASHED = 0.999
"""tanh never reaches 1: from here on, a squashed action counts as being at its bound."""

LEAST_LOG_STD = -4.0
"""An expert without noise would have an endless likelihood; below this log σ nothing is gained any more."""


@dataclass(frozen=True, slots=True)
class ExpertActions:
    """What an expert did.

    Attributes:
        executed: float32[n, continuous], in [-1, 1] where actions are bounded.
        discrete: int64[n, branches].
        mask: bool[n, sum of branches], True = allowed; None = everything is.
    """

    executed: Tensor
    discrete: Tensor
    mask: Tensor | None

    @staticmethod
    def of(batch: Batch) -> ExpertActions:
        """Those of a batch's rows."""
        is_masked = "action_mask" in batch
        mask = batch["action_mask"] if is_masked else None
        return ExpertActions(batch["action.continuous"], batch["action.discrete"], mask)


@dataclass(frozen=True, slots=True)
class CloningError:
    """How far a policy is from an expert, row by row; float32[n] each.

    Attributes:
        loss: What is to become small.
        nll: Negative logarithm of the joint likelihood of what the expert executed.
        squared_error: Of the most likely continuous action as it is executed, mean over dimensions.
        accuracy: Share of branches whose most likely choice is the expert's.
    """

    loss: Tensor
    nll: Tensor
    squared_error: Tensor
    accuracy: Tensor


def cloning_error(
    outputs: Tensor, log_std: Tensor, expert: ExpertActions, form: ActionForm, loss: LossName
) -> CloningError:
    """Compare a policy with an expert.

    Args:
        outputs: float32[n, form.outputs], of the actor.
        log_std: float32[continuous]; without meaning where log σ stands among the outputs.
        expert: What was done in the n rows.
        form: What the outputs are.
        loss: What `loss` holds of continuous actions: their negative log-likelihood, or `execution_error`.
    """
    nothing = torch.zeros(len(outputs), dtype=outputs.dtype, device=outputs.device)
    discrete, accuracy = _discrete(outputs[:, form.gaussian_size :], expert, form, nothing)
    if not form.spec.continuous_size:
        return CloningError(discrete, discrete, nothing, accuracy)
    mean, log_std = form.gaussian(outputs, log_std)
    continuous = -executed_log_prob(mean, log_std, expert.executed, form)
    nll = discrete + continuous
    squared = execution_error(mean, expert.executed, form)
    return CloningError(nll if loss == "nll" else discrete + squared, nll, squared.detach(), accuracy)


def executed_log_prob(mean: Tensor, log_std: Tensor, executed: Tensor, form: ActionForm) -> Tensor:
    """Joint log-likelihood of executed continuous actions, float32[n].

    Args:
        mean: float32[n, continuous].
        log_std: float32[continuous] or [n, continuous]; taken as `LEAST_LOG_STD` at least.
        executed: float32[n, continuous].
        form: How samples are executed.
    """
    log_std = log_std.clamp(min=LEAST_LOG_STD).expand_as(mean)
    sample, bound = executed, 1.0
    if form.squash:
        bound = math.atanh(MOST_SQUASHED)
        sample = torch.atanh(executed.clamp(-MOST_SQUASHED, MOST_SQUASHED))
    inverse_std = torch.exp(-log_std)
    # log N(x; μ, σ), and for tanh the density of tanh(x), which is that of x divided by the slope.
    inside = -0.5 * ((sample - mean) * inverse_std).square() - log_std - 0.5 * math.log(2 * math.pi)
    if form.squash:
        inside = inside - log_tanh_slope(sample)
    elif not form.spec.bounded:
        return inside.sum(dim=1)
    # log P(x ≥ bound) = log Φ((μ - bound) / σ), and the same below.
    side = sample.sign()
    beyond = torch.special.log_ndtr((side * mean - bound) * inverse_std)
    return torch.where(_is_at_bound(executed, form), beyond, inside).sum(dim=1)


def execution_error(mean: Tensor, executed: Tensor, form: ActionForm) -> Tensor:
    """Squared error of the most likely action as it is executed, mean over dimensions, float32[n].

    Clipped actions that agree at a bound have no error; those that do not are compared before clipping, so that a mean
    beyond a bound finds its way back.

    Args:
        mean: float32[n, continuous].
        executed: float32[n, continuous], of the expert.
        form: How samples are executed.
    """
    if form.squash:
        return (torch.tanh(mean) - executed).square().mean(dim=1)
    error = (mean - executed).square()
    if form.spec.bounded:
        agrees = (executed.abs() >= 1) & (mean * executed.sign() >= 1)
        error = error.masked_fill(agrees, 0.0)
    return error.mean(dim=1)


def _is_at_bound(executed: Tensor, form: ActionForm) -> Tensor:
    return executed.abs() >= (MOST_SQUASHED if form.squash else 1.0)


def _discrete(logits_of_all: Tensor, expert: ExpertActions, form: ActionForm, nothing: Tensor) -> tuple[Tensor, Tensor]:
    """Negative log-likelihood of the choices and share of them that are the most likely, float32[n] each."""
    nll, right, start = nothing, nothing, 0
    branches = form.spec.discrete_branches
    for branch, size in enumerate(branches):
        logits, chosen = logits_of_all[:, start : start + size], expert.discrete[:, branch : branch + 1]
        if expert.mask is not None:
            # What the expert did was possible, whatever the recorded mask says.
            allowed = expert.mask[:, start : start + size].scatter(1, chosen, True)
            logits = logits.masked_fill(~allowed, ILLEGAL)
        nll = nll - torch.log_softmax(logits, dim=1).gather(1, chosen).squeeze(1)
        right = right + (logits.argmax(dim=1, keepdim=True) == chosen).squeeze(1) / len(branches)
        start += size
    return nll, right
