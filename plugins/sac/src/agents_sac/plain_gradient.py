"""Gradients of plain perceptrons over vectors on the CPU, by hand in NumPy.

The derivatives follow the formulas in `losses` and `actions`; a test holds them equal to autograd's. Arrays of outputs
are [outputs, rows].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from agents_core.columns import Array, Batch
from agents_core.networks.distributions import ILLEGAL, LOG_STD_RANGE, ActionForm
from agents_core.networks.plain_mlp import PlainInputs, actor_mlp
from torch import Tensor

from agents_sac.critics import TWINS
from agents_sac.gradient import CriticStep, PolicyStep, SoftGradient
from agents_sac.minibatch import Minibatch, optional
from agents_sac.networks import SoftActorCritic
from agents_sac.temperature import Temperature
from agents_sac.twin_mlp import TwinMlp
from agents_sac.views import Views

Floats = npt.NDArray[np.float32]


@dataclass(slots=True)
class _Drawn:
    """As `actions.Drawn`, with what the backward pass needs.

    Attributes:
        continuous: float32[continuous, n].
        stretch: float32[continuous, n], σ ε.
        is_free: bool[continuous, n], where log σ is within its range; None = everywhere.
        log_prob: float32[n]; None without continuous actions.
        probs, log_probs: float32[choices, n].
        entropies: float32[branches, n].
    """

    continuous: Floats
    stretch: Floats
    is_free: npt.NDArray[np.bool_] | None
    log_prob: Floats | None
    probs: Floats
    log_probs: Floats
    entropies: Floats


class _Actions:
    """Draws actions from an actor's outputs, and turns a loss's gradient by them into one by the outputs."""

    def __init__(self, form: ActionForm) -> None:
        self._size = form.spec.continuous_size
        self._first_logit = form.gaussian_size
        stops = np.cumsum(form.spec.discrete_branches).tolist()
        self.branches = [
            slice(stop - size, stop) for size, stop in zip(form.spec.discrete_branches, stops, strict=True)
        ]

    def draw(self, outputs: Floats, noise: Floats, mask: npt.NDArray[np.bool_] | None) -> _Drawn:
        """See `actions.draw`; `outputs` are float32[outputs, n], `noise` float32[continuous, n]."""
        size, log_prob, is_free, stretch = self._size, None, None, noise
        continuous = noise
        if size:
            log_std = outputs[size : 2 * size]
            if log_std.min() < LOG_STD_RANGE[0] or log_std.max() > LOG_STD_RANGE[1]:
                is_free = (log_std >= LOG_STD_RANGE[0]) & (log_std <= LOG_STD_RANGE[1])
                log_std = np.clip(log_std, *LOG_STD_RANGE)
            stretch = np.exp(log_std) * noise
            raw = outputs[:size] + stretch
            continuous = np.tanh(raw)
            # log(1 - tanh²(x)) = 2 (log 2 - |x| - log(1 + e^(-2|x|)))
            magnitude = np.abs(raw)
            slope = np.log1p(np.exp(-2 * magnitude)) + magnitude - np.float32(math.log(2))
            terms = 2 * slope - 0.5 * (noise * noise) - log_std
            log_prob = np.add.reduce(terms, axis=0) - np.float32(0.5 * math.log(2 * math.pi) * size)
        logits = outputs[self._first_logit :]
        probs, log_probs = np.empty_like(logits), np.empty_like(logits)
        entropies = np.empty((len(self.branches), outputs.shape[1]), np.float32)
        for branch, part in enumerate(self.branches):
            own = logits[part] if mask is None else np.where(mask[:, part].T, logits[part], np.float32(ILLEGAL))
            shifted = own - np.maximum.reduce(own, axis=0)
            shifted -= np.log(np.add.reduce(np.exp(shifted), axis=0))
            log_probs[part] = shifted
            np.exp(shifted, out=probs[part])
            entropies[branch] = -np.add.reduce(probs[part] * shifted, axis=0)
        return _Drawn(continuous, stretch, is_free, log_prob, probs, log_probs, entropies)

    def backward(self, drawn: _Drawn, by_action: Floats, by_probs: Floats, alpha: Floats, out: Floats) -> None:
        """Write the gradient of the mean over rows of α log π - Q by the outputs.

        Args:
            drawn: What was drawn.
            by_action: float32[continuous, n], gradient of the mean of -Q by the continuous actions.
            by_probs: float32[choices, n], that by each probability.
            alpha: float32[parts].
            out: float32[outputs, n].
        """
        size, rows = self._size, out.shape[1]
        if size:
            # ∂ log π / ∂x = 2 tanh(x) and ∂a / ∂x = 1 - a², with x = μ + σ ε and a = tanh(x); directly, log π falls
            # by 1 with each log σ.
            weight = np.float32(alpha[0] / rows)
            by_raw = by_action * (1 - drawn.continuous * drawn.continuous)
            by_raw += (2 * weight) * drawn.continuous
            out[:size] = by_raw
            by_log_std = by_raw * drawn.stretch - weight
            out[size : 2 * size] = by_log_std if drawn.is_free is None else by_log_std * drawn.is_free
        own_alpha = alpha[1:] if size else alpha
        for branch, part in enumerate(self.branches):
            # ∂p_j / ∂z_i = p_j ([i = j] - p_i) and -∂H / ∂z_i = p_i (log p_i + H)
            probs, weight = drawn.probs[part], np.float32(own_alpha[branch] / rows)
            mean = np.add.reduce(probs * by_probs[part], axis=0)
            by_logit = by_probs[part] - mean + weight * (drawn.log_probs[part] + drawn.entropies[branch])
            np.multiply(probs, by_logit, out=out[self._first_logit :][part])


class PlainSoftGradient(SoftGradient):
    """For networks that are plain perceptrons on the CPU; `views` are not looked at."""

    def __init__(self, networks: SoftActorCritic, temperature: Temperature, generator: np.random.Generator) -> None:
        super().__init__(networks, temperature, generator)
        self._actor = actor_mlp(networks.actor)
        self._critics = TwinMlp(networks.critics)
        self._targets = TwinMlp(networks.targets)
        self._inputs = PlainInputs(networks.actor)
        self._actions = _Actions(self._form)
        self._signals, self._choices = networks.critics.num_signals, networks.critics.choices
        size = sum(observation.size for observation in networks.actor.spec.observations)
        self._seen = slice(0, size)
        self._done = slice(size, size + self._form.spec.continuous_size)

    def critic(self, minibatch: Minibatch, views: Views, alpha: Tensor) -> CriticStep:  # noqa: ARG002
        batch, rows = minibatch.batch, len(minibatch.batch)
        drawn = self._draw(batch.next_observations, optional(batch, "next_action_mask"), rows)
        inputs = self._targets.inputs(rows)
        inputs[:, self._seen] = self._actor.inputs(rows)[:, self._seen]
        inputs[:, self._done] = drawn.continuous.T
        smaller = np.minimum(*self._mean_over_choices(self._by_choice(self._targets.forward()), drawn))
        value = smaller + self._bonus(drawn, alpha.numpy()) / self._signals
        target = minibatch.rewards.numpy().T + minibatch.discounts.numpy().T * value

        inputs = self._critics.inputs(rows)
        self._inputs.fill([observation.numpy() for observation in batch.observations], inputs)
        inputs[:, self._done] = batch["action.continuous"].numpy()
        q = self._by_choice(self._critics.forward())
        taken = self._taken(batch)
        chosen = q[:, :, 0]
        if taken is not None:
            chosen = np.add.reduce([q[:, :, column, np.arange(rows)] for column in taken])
        errors = chosen - target
        gradient = errors * np.float32(1 / (rows * self._signals))
        if minibatch.weights is not None:
            gradient *= minibatch.weights.numpy()
        # ½ Σ over twins of the (weighted) mean square
        loss = 0.5 * float(np.vdot(errors, gradient))
        self._spread(gradient, taken)
        self._critics.backward()
        mean_q = float(chosen.sum()) / (TWINS * rows)
        by_row = np.abs(errors).mean(axis=0).sum(axis=0)
        return CriticStep(loss, mean_q, torch.from_numpy(by_row))

    def policy(self, minibatch: Minibatch, views: Views, alpha: Tensor) -> PolicyStep:  # noqa: ARG002
        batch, rows = minibatch.batch, len(minibatch.batch)
        mask = optional(batch, "action_mask")
        drawn = self._draw(batch.observations, mask, rows)
        # The critics' inputs still hold the observations.
        self._critics.inputs(rows)[:, self._done] = drawn.continuous.T
        totals = np.add.reduce(self._by_choice(self._critics.forward()), axis=1)
        means = self._mean_over_choices(totals, drawn)
        is_second = means[1] < means[0]
        value, smaller = np.where(is_second, means[1], means[0]), np.where(is_second, totals[1], totals[0])
        loss = -float(np.add.reduce(value + self._bonus(drawn, alpha.numpy()))) / rows

        weights = (drawn.probs if len(drawn.probs) else np.ones((1, rows), np.float32)) / np.float32(-rows)
        gradient = self._by_choice(self._critics.output_gradient)
        gradient[0] = weights * ~is_second
        gradient[1] = weights * is_second
        by_action = self._critics.backward_to_inputs(self._done) if self._form.spec.continuous_size else smaller
        self._actions.backward(
            drawn, by_action, smaller / np.float32(-rows), alpha.numpy(), self._actor.output_gradient
        )
        self._actor.backward()
        return self._policy_step(loss, drawn, mask)

    def _policy_step(self, loss: float, drawn: _Drawn, mask: Tensor | None) -> PolicyStep:
        parts = drawn.entropies if drawn.log_prob is None else np.concatenate([-drawn.log_prob[None], drawn.entropies])
        targets = self._temperature.targets(mask)
        excess = torch.from_numpy(parts.mean(axis=1)) - (targets if targets.dim() == 1 else targets.mean(dim=0))
        return PolicyStep(loss, float(parts.sum()) / parts.shape[1], excess)

    def _draw(self, observations: tuple[Tensor, ...], mask: Tensor | None, rows: int) -> _Drawn:
        """What the policy does where it sees these observations, which are then the actor's inputs."""
        self._inputs.fill([observation.numpy() for observation in observations], self._actor.inputs(rows))
        noise = self._noise(rows).numpy().T
        return self._actions.draw(self._actor.forward(), noise, None if mask is None else mask.numpy())

    def _by_choice(self, outputs: Floats) -> Floats:
        """[twins, signals · choices, n] as [twins, signals, choices, n]."""
        return outputs.reshape(TWINS, self._signals, self._choices, -1)

    @staticmethod
    def _mean_over_choices(values: Floats, drawn: _Drawn) -> Floats:
        """Mean of float32[…, choices, n] over the policy's discrete choices: float32[…, n]."""
        if not len(drawn.probs):
            return values[..., 0, :]
        mean: Floats = np.add.reduce(values * drawn.probs, axis=-2)
        return mean

    @staticmethod
    def _bonus(drawn: _Drawn, alpha: Floats) -> Floats:
        """Σ α · entropy: float32[n]."""
        if drawn.log_prob is None:
            return alpha @ drawn.entropies
        bonus: Floats = -alpha[0] * drawn.log_prob
        return bonus + alpha[1:] @ drawn.entropies if len(alpha) > 1 else bonus

    def _taken(self, batch: Batch) -> npt.NDArray[np.int64] | None:
        """Columns of the choices that were made: int64[branches, n]; None without branches."""
        if not self._actions.branches:
            return None
        starts = np.array([[part.start] for part in self._actions.branches])
        taken: npt.NDArray[np.int64] = batch["action.discrete"].numpy().T + starts
        return taken

    def _spread(self, gradient: Array, taken: npt.NDArray[np.int64] | None) -> None:
        """Put the gradient by the chosen Q, float32[twins, signals, n], to the places of the choices."""
        outputs = self._by_choice(self._critics.output_gradient)
        if taken is None:
            outputs[:, :, 0] = gradient
            return
        outputs[:] = 0
        for column in taken:
            outputs[:, :, column, np.arange(len(column))] = gradient
