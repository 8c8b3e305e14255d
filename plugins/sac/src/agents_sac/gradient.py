"""Gradients of the critics' and the policy's loss, by autograd."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from agents_sac.actions import choices_taken, draw
from agents_sac.losses import critic_loss, entropy_excess, policy_loss, soft_value, taken_q
from agents_sac.minibatch import Minibatch, optional
from agents_sac.networks import SoftActorCritic
from agents_sac.temperature import Temperature
from agents_sac.views import Views


@dataclass(frozen=True, slots=True)
class CriticStep:
    """What the critics' loss showed.

    Attributes:
        loss, mean_q: Scalars.
        errors: float32[n], |Q - y| of each row, averaged over twins and added up over signals.
    """

    loss: float
    mean_q: float
    errors: Tensor


@dataclass(frozen=True, slots=True)
class PolicyStep:
    """What the policy's loss showed.

    Attributes:
        loss, entropy: Scalars; the entropy is that of all parts together.
        mean_excess: float32[parts], entropy beyond its target.
    """

    loss: float
    entropy: float
    mean_excess: Tensor


class SoftGradient:
    """Fills the flat gradients of the critics and of the actor for a minibatch.

    Args:
        networks: What learns.
        temperature: Weighs the entropy.
        generator: Source of the noise in drawn actions.
    """

    def __init__(self, networks: SoftActorCritic, temperature: Temperature, generator: np.random.Generator) -> None:
        self._networks = networks
        self._temperature = temperature
        self._generator = generator
        self._form = networks.actor.form

    def critic(self, minibatch: Minibatch, views: Views, alpha: Tensor) -> CriticStep:
        """Put the gradient of the critics' loss into `critics.flat.gradient`.

        The loss is ½ (Q(s, a) - y)² with y = r + γ (1 - terminated) V(s'), and V by the targets.
        """
        networks, batch = self._networks, minibatch.batch
        with torch.no_grad():
            next_mask = optional(batch, "next_action_mask")
            drawn = draw(views.next_outputs(), self._noise(len(batch)), next_mask, self._form)
            next_q = networks.targets.q(views.target_code(), drawn.continuous)
            value = soft_value(next_q, drawn, alpha)
            target = minibatch.rewards + minibatch.discounts * value

        q = networks.critics.q(views.critic_code(), batch["action.continuous"])
        sizes = self._form.spec.discrete_branches
        taken = choices_taken(batch["action.discrete"], sizes) if sizes else None
        errors = taken_q(q, taken) - target
        loss = critic_loss(errors, minibatch.weights)
        networks.critics.flat.differentiate(loss)
        with torch.no_grad():
            means = torch.stack([loss, (errors + target).sum(dim=2).mean()])
            loss_value, mean_q = means.tolist()
            return CriticStep(loss_value, mean_q, errors.abs().mean(dim=0).sum(dim=1))

    def policy(self, minibatch: Minibatch, views: Views, alpha: Tensor) -> PolicyStep:
        """Put the gradient of the policy's loss, α log π(a|s) - min Q(s, a), into `actor.flat.gradient`."""
        networks, batch = self._networks, minibatch.batch
        mask = optional(batch, "action_mask")
        drawn = draw(views.outputs(), self._noise(len(batch)), mask, self._form)
        with torch.no_grad():
            code = views.critic_code()
        q = networks.critics.q(code, drawn.continuous)
        loss = policy_loss(q, drawn, alpha).mean()
        networks.actor.flat.differentiate(loss)
        with torch.no_grad():
            targets = self._temperature.targets(mask)
            excess = entropy_excess(drawn, targets)
            entropy = (excess + targets).sum(dim=1).mean()
            loss_value, entropy_value = torch.stack([loss, entropy]).tolist()
            return PolicyStep(loss_value, entropy_value, excess.mean(dim=0))

    def _noise(self, rows: int) -> Tensor:
        noise = self._generator.standard_normal((rows, self._form.spec.continuous_size), np.float32)
        return torch.from_numpy(noise).to(self._networks.actor.log_std.device)
