"""Actions drawn from the policy so that gradients flow through them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from agents_core.networks.distributions import ILLEGAL, ActionForm, log_tanh_slope
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a policy does in n states.

    Attributes:
        continuous: float32[n, continuous], a sample in [-1, 1].
        log_prob: float32[n], log-density of that sample; None without continuous actions.
        probs: float32[n, sum of branches], probability of each discrete choice; None without branches.
        entropies: float32[n, branches].
    """

    continuous: Tensor
    log_prob: Tensor | None
    probs: Tensor | None
    entropies: Tensor


def draw(outputs: Tensor, noise: Tensor, mask: Tensor | None, form: ActionForm) -> Drawn:
    """Actions of a policy.

    Continuous ones are tanh(μ + σ ε) (Haarnoja et al. 2018, appendix C); of discrete ones there is no need to draw
    any, since the mean over all choices is at hand (Christodoulou 2019).

    Args:
        outputs: float32[n, form.outputs], of the actor.
        noise: float32[n, continuous], ε ~ N(0, 1).
        mask: bool[n, sum of branches], True = allowed; None = everything is.
        form: What the outputs are.
    """
    log_prob = probs = None
    continuous = noise
    if form.spec.continuous_size:
        mean, log_std = form.gaussian(outputs, None)
        raw = mean + log_std.exp() * noise
        continuous = torch.tanh(raw)
        # log π = Σ log N(x; μ, σ) - log(1 - tanh²(x)), where x = μ + σ ε
        constant = 0.5 * math.log(2 * math.pi)
        log_prob = (-0.5 * noise.square() - log_std - constant - log_tanh_slope(raw)).sum(dim=1)
    entropies = outputs.new_empty(len(outputs), 0)
    if form.spec.discrete_branches:
        probs, entropies = _branches(outputs[:, form.gaussian_size :], mask, form.spec.discrete_branches)
    return Drawn(continuous, log_prob, probs, entropies)


def _branches(logits_of_all: Tensor, mask: Tensor | None, sizes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    if mask is not None:
        logits_of_all = logits_of_all.masked_fill(~mask, ILLEGAL)
    probs, entropies = [], []
    for logits in torch.split(logits_of_all, list(sizes), dim=1):
        log_probs = torch.log_softmax(logits, dim=1)
        probs.append(log_probs.exp())
        entropies.append(-(probs[-1] * log_probs).sum(dim=1))
    return torch.cat(probs, dim=1), torch.stack(entropies, dim=1)


def choices_taken(discrete: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Columns of the chosen actions among the choices of all branches side by side: int64[n, branches]."""
    starts = torch.tensor([sum(sizes[:branch]) for branch in range(len(sizes))], device=discrete.device)
    return discrete + starts
