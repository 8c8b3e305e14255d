"""PPO's loss of a plain perceptron and its gradient, by hand in NumPy.

The derivatives follow the formulas in `losses` and `distributions`; a test holds them equal to autograd's.
Arrays of outputs are [outputs, rows].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array, Batch
from agents_core.learning.gradient import Evaluation, Losses, LossGradient, LossWeights, even_slices, stack_columns
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.distributions import ILLEGAL
from agents_core.networks.plain_mlp import PlainInputs, actor_mlp, aligned, critic_mlp, shared_mlp
from agents_core.spec import ActionSpec
from agents_core.trajectory import Trajectories

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

EVALUATION_ROWS = 512
"""About how many rows pass through the network at once outside of minibatches; what they need stays in the cache."""


@dataclass(slots=True)
class _Taken:
    """What actions contribute: raw float32[n, continuous], discrete int64[n, branches], mask bool[n, sum] or None."""

    raw: Floats
    discrete: Ints
    mask: npt.NDArray[np.bool_] | None

    def take(self, rows: Ints | slice) -> _Taken:
        return _Taken(self.raw[rows], self.discrete[rows], None if self.mask is None else self.mask[rows])


class _Distribution:
    """Log-probability and entropy of actions, and their derivatives by the actor's outputs."""

    def __init__(self, spec: ActionSpec, log_std: Floats, log_std_gradient: Floats) -> None:
        self._continuous = spec.continuous_size
        stops = np.cumsum(spec.discrete_branches).tolist()
        self._branches = [slice(stop - size, stop) for size, stop in zip(spec.discrete_branches, stops, strict=True)]
        self._log_std = log_std
        self._log_std_gradient = log_std_gradient

    def forward(self, outputs: Floats, taken: _Taken) -> tuple[Floats, Floats | float]:
        """Joint log-probability float32[n], and joint entropy: float32[n], or a number if it is the same everywhere."""
        log_prob: Floats = np.zeros(outputs.shape[1], np.float32)
        entropy: Floats | float = 0.0
        if self._continuous:
            self._inverse_std = np.exp(-self._log_std)[:, None]
            self._scaled = np.subtract(taken.raw.T, outputs[: self._continuous])
            self._scaled *= self._inverse_std
            self._squared = self._scaled * self._scaled
            sum_log_std, size = float(self._log_std.sum()), self._continuous
            log_prob -= 0.5 * np.add.reduce(self._squared, axis=0)
            log_prob -= np.float32(sum_log_std + 0.5 * math.log(2 * math.pi) * size)
            entropy = sum_log_std + 0.5 * math.log(2 * math.pi * math.e) * size
        self._choices = []
        rows = np.arange(outputs.shape[1])
        for branch, part in enumerate(self._branches):
            logits = outputs[self._continuous :][part]
            if taken.mask is not None:
                logits = np.where(taken.mask[:, part].T, logits, np.float32(ILLEGAL))
            log_probs = logits - np.maximum.reduce(logits, axis=0)
            probs = np.exp(log_probs)
            total = np.add.reduce(probs, axis=0)
            probs /= total
            log_probs -= np.log(total)
            chosen = taken.discrete[:, branch] * len(rows) + rows
            log_prob += log_probs.ravel().take(chosen)
            branch_entropy = -np.add.reduce(probs * log_probs, axis=0)
            entropy = entropy + branch_entropy
            self._choices.append((log_probs, probs, branch_entropy, chosen))
        return log_prob, entropy

    def backward(self, log_prob_gradient: Floats, entropy_gradient: float, out: Floats) -> None:
        """Write the gradient by the outputs to `out` and that by log σ to its place.

        Args:
            log_prob_gradient: float32[n], of the loss by each row's log-probability.
            entropy_gradient: Of the loss by each row's entropy.
            out: float32[outputs, n].
        """
        if self._continuous:
            # ∂ log p / ∂μ = z / σ and ∂ log p / ∂ log σ = z² - 1, with z = (x - μ) / σ
            scaled = np.multiply(self._scaled, self._inverse_std, out=out[: self._continuous])
            scaled *= log_prob_gradient
            rows = len(log_prob_gradient)
            np.add.reduce(self._squared * log_prob_gradient, axis=1, out=self._log_std_gradient)
            self._log_std_gradient += rows * entropy_gradient - np.add.reduce(log_prob_gradient)
        for branch, part in enumerate(self._branches):
            # ∂ log p_a / ∂ logit_i = [i = a] - p_i and ∂H / ∂ logit_i = -p_i (log p_i + H)
            log_probs, probs, entropy, chosen = self._choices[branch]
            gradient = out[self._continuous :][part]
            np.add(log_probs, entropy, out=gradient)
            gradient *= -entropy_gradient
            gradient -= log_prob_gradient
            gradient *= probs
            gradient.reshape(-1)[chosen] += log_prob_gradient


class PlainGradient(LossGradient):
    """For networks that are plain perceptrons on the CPU."""

    def __init__(self, network: ActorCritic) -> None:
        action, flat = network.spec.action, network.flat
        self._outputs = action.continuous_size + action.mask_size
        self._is_shared = network.config.shared
        self._actor = shared_mlp(network) if self._is_shared else actor_mlp(network)
        self._critic = self._actor if self._is_shared else critic_mlp(network)
        self._inputs = PlainInputs(network)
        self._distribution = _Distribution(
            action, network.log_std.detach().numpy(), flat.gradient_of(network.log_std).numpy()
        )

    def evaluate(self, trajectories: Trajectories, batch: Batch) -> Evaluation:
        return Evaluation(*self.rows(batch), self.values(trajectories.final_observations))

    def rows(self, batch: Batch) -> tuple[Floats, Floats]:
        """Log-probability of each row's action, float32[n], and values, float32[n, signals]."""
        observations = [observation.numpy() for observation in batch.observations]
        taken, log_probs, values = _taken(batch), [], []
        for rows in even_slices(len(batch), EVALUATION_ROWS):
            outputs, value = self._forward([observation[rows] for observation in observations])
            log_probs.append(self._distribution.forward(outputs, taken.take(rows))[0])
            values.append(value.T.copy())
        return np.concatenate(log_probs), np.concatenate(values)

    def values(self, observations: Sequence[Array]) -> Floats:
        """Values of observations, one array [n, *shape] each: float32[n, signals]."""
        parts = [
            self._forward([array[rows] for array in observations], with_actor=self._is_shared)[1].T.copy()
            for rows in even_slices(len(observations[0]), EVALUATION_ROWS)
        ]
        return np.concatenate(parts)

    def _forward(self, observations: Sequence[Array], with_actor: bool = True) -> tuple[Floats, Floats]:
        rows = len(observations[0])
        inputs = self._actor.inputs(rows)
        self._inputs.fill(observations, inputs)
        return self._outputs_and_values(inputs, with_actor)

    def _outputs_and_values(self, inputs: Floats, with_actor: bool = True) -> tuple[Floats, Floats]:
        """Outputs and values for what is in the actor's `inputs`."""
        outputs = self._actor.forward() if with_actor else inputs
        if self._is_shared:
            return outputs[: self._outputs], outputs[self._outputs :]
        self._critic.inputs(len(inputs))[:] = inputs
        return outputs, self._critic.forward()

    def load(self, rollout: Batch, signals: Sequence[str]) -> None:
        observations = [observation.numpy() for observation in rollout.observations]
        width = sum(observation[:1].size for observation in observations) + 1
        self._rows = aligned(len(rollout), width).numpy()
        self._rows[:, -1] = 1
        self._inputs.fill(observations, self._rows)
        self._taken = _taken(rollout)
        self._log_prob = rollout["log_prob"].numpy()
        self._advantage = rollout["advantage"].numpy()
        self._returns = stack_columns(rollout, "returns", signals).numpy()
        self._old_values = stack_columns(rollout, "values", signals).numpy()

    def compute(self, rows: Ints, weights: LossWeights) -> Losses:
        inputs = np.take(self._rows, rows, axis=0, out=self._actor.inputs(len(rows)), mode="clip")
        outputs, values = self._outputs_and_values(inputs)
        policy_gradient = self._actor.output_gradient[: self._outputs]
        value_gradient = self._critic.output_gradient[self._outputs if self._is_shared else 0 :]

        # What overflows shows up in the losses and the weights, which are checked.
        with np.errstate(over="ignore", invalid="ignore"):
            policy, entropy, kl, clipped = self._policy_loss(outputs, rows, weights, policy_gradient)
            value = self._value_loss(values, rows, weights, value_gradient)
            self._actor.backward()
            if not self._is_shared:
                self._critic.backward()
        return Losses(policy, value, entropy, kl, clipped)

    def _policy_loss(
        self, outputs: Floats, rows: Ints, weights: LossWeights, gradient: Floats
    ) -> tuple[float, float, float, float]:
        """Policy loss, entropy, approximate KL and clip fraction; writes the gradient of the first two."""
        log_prob, entropy = self._distribution.forward(outputs, self._taken.take(rows))
        log_ratio = log_prob - self._log_prob[rows]
        ratio, advantage, size = np.exp(log_ratio), self._advantage[rows], len(rows)
        surrogate = ratio * advantage
        clipped = np.minimum(np.maximum(ratio, 1 - weights.epsilon), 1 + weights.epsilon) * advantage
        # ∂(-min(ρA, clip(ρ)A)) / ∂ log p = -ρA where the first is the smaller, else 0
        by_log_prob = np.where(surrogate <= clipped, surrogate, np.float32(0))
        by_log_prob *= np.float32(-1 / size)
        self._distribution.backward(by_log_prob, -weights.beta / size, gradient)

        loss = -float(np.add.reduce(np.minimum(surrogate, clipped))) / size
        off = ratio - 1
        kl = float(np.add.reduce(off - log_ratio)) / size
        outside = float(np.count_nonzero(np.abs(off) > weights.epsilon)) / size
        mean_entropy = entropy if isinstance(entropy, float) else float(np.add.reduce(entropy)) / size
        return loss, mean_entropy, kl, outside

    def _value_loss(self, values: Floats, rows: Ints, weights: LossWeights, gradient: Floats) -> float:
        """Value loss; writes its gradient."""
        if not values.size:
            return 0.0
        returns = self._returns[rows].T
        error = values - returns
        np.multiply(error, np.float32(2 * weights.value_coefficient / values.size), out=gradient)
        squared = error * error
        if weights.value_clip_range is not None:
            old = self._old_values[rows].T
            moved = values - old
            held = np.minimum(np.maximum(moved, -weights.value_clip_range), weights.value_clip_range)
            clipped = np.square(old + held - returns)
            # Where the value is held and the error there is the larger one, it is constant in the value.
            gradient *= (held == moved) | (squared >= clipped)
            np.maximum(squared, clipped, out=squared)
        return float(np.add.reduce(squared, axis=None)) / values.size


def _taken(batch: Batch) -> _Taken:
    is_masked = "action_mask" in batch
    return _Taken(
        batch["action.raw"].numpy(),
        batch["action.discrete"].numpy(),
        batch["action_mask"].numpy() if is_masked else None,
    )
