"""PPO's loss of an actor-critic network and its gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agents_core.columns import Batch
from agents_core.learning.losses import approximate_kl, clip_fraction, clipped_policy_loss, value_loss
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.distributions import ActionColumns, log_prob_and_entropy

Floats = npt.NDArray[np.float32]

EVALUATION_ROWS = 4096
"""About how many rows a network sees at once outside of minibatches."""


@dataclass(frozen=True, slots=True)
class LossWeights:
    """Coefficients of policy_loss + value_coefficient · value_loss - beta · entropy.

    Attributes:
        epsilon: Clip range of the probability ratio.
        beta: Weight of the entropy bonus.
        value_coefficient: Weight of the value loss.
        value_clip_range: Clip range of values; None = no clipping.
    """

    epsilon: float
    beta: float
    value_coefficient: float
    value_clip_range: float | None


@dataclass(frozen=True, slots=True)
class Losses:
    """What one minibatch showed, before the step that follows from it."""

    policy: float
    value: float
    entropy: float
    approx_kl: float
    clip_fraction: float

    def stats(self) -> dict[str, float]:
        """By the names they are logged under."""
        return {
            "train/policy_loss": self.policy,
            "train/value_loss": self.value,
            "train/entropy": self.entropy,
            "train/approx_kl": self.approx_kl,
            "train/clip_fraction": self.clip_fraction,
        }


class LossGradient(ABC):
    """Evaluates a network over rollouts and computes the gradient of the loss."""

    @abstractmethod
    def evaluate(self, batch: Batch) -> tuple[Floats, Floats]:
        """Log-probability of each row's action, float32[n], and values, float32[n, signals]."""

    @abstractmethod
    def values(self, observations: Sequence[Tensor]) -> Floats:
        """Values of observations, one tensor [n, *shape] each: float32[n, signals]."""

    @abstractmethod
    def load(self, rollout: Batch, signals: Sequence[str]) -> None:
        """Take the rollout whose minibatches follow.

        Args:
            rollout: With `log_prob`, `advantage`, `values.<signal>` and `returns.<signal>`.
            signals: Names of the signals that have a value head, in the order of the heads.
        """

    @abstractmethod
    def compute(self, rows: npt.NDArray[np.int64], weights: LossWeights) -> Losses:
        """Put the gradient of the loss over the given rows of the rollout into `network.flat.gradient`."""


class AutogradGradient(LossGradient):
    """For any network on any device."""

    def __init__(self, network: ActorCritic) -> None:
        self._network = network

    @torch.no_grad()
    def evaluate(self, batch: Batch) -> tuple[Floats, Floats]:
        network, log_probs, values = self._network, [], []
        actions = action_columns(batch)
        observations = batch.observations
        for rows in even_slices(len(batch), EVALUATION_ROWS):
            outputs, value = network([observation[rows] for observation in observations])
            log_prob, _ = log_prob_and_entropy(outputs, network.log_std, actions.rows(rows), network.spec.action)
            log_probs.append(log_prob)
            values.append(value)
        return torch.cat(log_probs).cpu().numpy(), torch.cat(values).cpu().numpy()

    @torch.no_grad()
    def values(self, observations: Sequence[Tensor]) -> Floats:
        parts = [
            self._network.value([observation[rows] for observation in observations])
            for rows in even_slices(len(observations[0]), EVALUATION_ROWS)
        ]
        return torch.cat(parts).cpu().numpy()

    def load(self, rollout: Batch, signals: Sequence[str]) -> None:
        self._rollout = rollout
        self._returns = stack_columns(rollout, "returns", signals)
        self._old_values = stack_columns(rollout, "values", signals)

    def compute(self, rows: npt.NDArray[np.int64], weights: LossWeights) -> Losses:
        network = self._network
        indices = torch.from_numpy(rows).to(self._returns.device)
        minibatch = self._rollout.take(indices)
        advantage = minibatch["advantage"]

        outputs, values = network(minibatch.observations)
        log_prob, entropy = log_prob_and_entropy(
            outputs, network.log_std, action_columns(minibatch), network.spec.action
        )
        log_ratio = log_prob - minibatch["log_prob"]
        ratio = log_ratio.exp()
        policy = clipped_policy_loss(ratio, advantage, weights.epsilon)
        mean_entropy = entropy.mean()
        loss = policy - weights.beta * mean_entropy
        value = torch.zeros((), device=loss.device)
        if values.shape[1]:
            value = value_loss(values, self._returns[indices], self._old_values[indices], weights.value_clip_range)
            loss = loss + weights.value_coefficient * value

        network.flat.differentiate(loss)
        with torch.no_grad():
            parts = [policy, value, mean_entropy, approximate_kl(log_ratio), clip_fraction(ratio, weights.epsilon)]
            return Losses(*torch.stack(parts).tolist())


def action_columns(batch: Batch) -> ActionColumns:
    """The columns of a batch that log-probabilities need."""
    is_masked = "action_mask" in batch
    return ActionColumns(
        batch["action.raw"], batch["action.discrete"], mask=batch["action_mask"] if is_masked else None
    )


def stack_columns(rollout: Batch, prefix: str, signals: Sequence[str]) -> Tensor:
    """`<prefix>.<signal>` of all signals side by side, float32[n, signals]."""
    if not signals:
        return torch.empty(len(rollout), 0, device=rollout["advantage"].device)
    return torch.stack([rollout[f"{prefix}.{signal}"] for signal in signals], dim=1)


def even_slices(rows: int, size: int) -> list[slice]:
    """All rows in slices as near to `size` as an even split comes; at least one slice."""
    count = max(1, round(rows / size))
    return [slice(rows * part // count, rows * (part + 1) // count) for part in range(count)]
