"""The quantities of Soft Actor-Critic: pure functions of tensors.

Notation: t twins, n rows, s reward signals, c discrete choices (1 without branches). The temperature α has one part for
all continuous actions, if there are any, and one for each discrete branch.
"""

from __future__ import annotations

import torch
from torch import Tensor

from agents_sac.actions import Drawn


def expected_q(q: Tensor, drawn: Drawn) -> Tensor:
    """The smaller twin's mean of Q over the policy's discrete choices: float32[n, s].

    The smaller of each choice would be too low with several branches: only their sum is learned, so that a twin may
    have more in one branch and less in another.

    Args:
        q: float32[t, n, s, c], at the continuous actions of `drawn`.
        drawn: What the policy does.
    """
    means = q[..., 0] if drawn.probs is None else torch.einsum("tnsc,nc->tns", q, drawn.probs)
    return means.amin(dim=0)


def entropy_bonus(drawn: Drawn, alpha: Tensor) -> Tensor:
    """Σ α · entropy over the parts of the action, that of continuous ones estimated by -log π: float32[n]."""
    if drawn.log_prob is None:
        return drawn.entropies @ alpha
    bonus = -alpha[0] * drawn.log_prob
    return bonus + drawn.entropies @ alpha[1:] if len(alpha) > 1 else bonus


def soft_value(q: Tensor, drawn: Drawn, alpha: Tensor) -> Tensor:
    """V(s) = min E[Q(s, a)] - E[α log π(a|s)], float32[n, s]; signals share the entropy's part evenly.

    Their sum is the value of the whole objective; see Haarnoja et al. (2018), equation 3.
    """
    values = expected_q(q, drawn)
    return values + (entropy_bonus(drawn, alpha) / values.shape[1])[:, None]


def taken_q(q: Tensor, taken: Tensor | None) -> Tensor:
    """Q of the actions that were taken, added up over branches: float32[t, n, s].

    Args:
        q: float32[t, n, s, c].
        taken: int64[n, branches], columns among the choices; None without branches.
    """
    if taken is None:
        return q[..., 0]
    index = taken[None, :, None, :].expand(q.shape[0], -1, q.shape[2], -1)
    return q.gather(3, index).sum(dim=3)


def critic_loss(errors: Tensor, weights: Tensor | None) -> Tensor:
    """½ (Q - y)², averaged over rows and signals and added up over twins: a scalar.

    Args:
        errors: float32[t, n, s], Q - y.
        weights: float32[n], of each row in the average; None = 1.
    """
    squares = errors.square() if weights is None else errors.square() * weights[:, None]
    return 0.5 * squares.mean(dim=(1, 2)).sum()


def policy_loss(q: Tensor, drawn: Drawn, alpha: Tensor) -> Tensor:
    """α log π - min E[Q] for each row, with Q added up over signals: float32[n].

    Haarnoja et al. (2018), equation 7.
    """
    value = expected_q(q.sum(dim=2, keepdim=True), drawn)[:, 0]
    return -(value + entropy_bonus(drawn, alpha))


def entropy_excess(drawn: Drawn, targets: Tensor) -> Tensor:
    """Entropy beyond its target of each part of the action, float32[n, parts].

    Its mean is the derivative of the temperature's loss -log α · (log π + target) by log α.

    Args:
        drawn: What the policy does.
        targets: float32[n, parts] or [parts].
    """
    if drawn.log_prob is None:
        return drawn.entropies - targets
    return torch.cat([-drawn.log_prob[:, None], drawn.entropies], dim=1) - targets
