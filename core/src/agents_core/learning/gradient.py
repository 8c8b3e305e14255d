"""PPO's loss of an actor-critic network and its gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agents_core.columns import Batch
from agents_core.learning.losses import approximate_kl, clip_fraction, clipped_policy_loss, value_loss
from agents_core.learning.rollout import minibatches
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.distributions import ActionColumns, log_prob_and_entropy
from agents_core.spec import BehaviorSpec
from agents_core.trajectory import Trajectories

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_MOST_ROWS, _FEWEST_ROWS, _NUMBERS = 4096, 64, 2**22
"""Bounds of `rows_at_once`, and how many numbers of observations they may hold."""


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


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a network says of a rollout.

    Attributes:
        log_prob: float32[n], log-probability of each row's action.
        values: float32[n, signals].
        final_values: float32[m, signals], of what was seen after each trajectory.
        fields: Further columns that learning from the rollout needs.
    """

    log_prob: Floats
    values: Floats
    final_values: Floats
    fields: Mapping[str, Floats] = field(default_factory=dict)


class LossGradient(ABC):
    """Evaluates a network over rollouts and computes the gradient of the loss.

    For each rollout: `evaluate`, `load`, then `compute` for each of its `minibatches`.
    """

    @abstractmethod
    def evaluate(self, trajectories: Trajectories, batch: Batch) -> Evaluation:
        """What the network says now.

        Args:
            trajectories: The rollout.
            batch: Its rows on the training device.
        """

    @abstractmethod
    def load(self, rollout: Batch, signals: Sequence[str]) -> None:
        """Take the rollout whose minibatches follow.

        Args:
            rollout: With `log_prob`, `advantage`, `values.<signal>` and `returns.<signal>`.
            signals: Names of the signals that have a value head, in the order of the heads.
        """

    def minibatches(self, rows: int, batch_size: int, generator: np.random.Generator) -> Iterator[Ints]:
        """The rollout's rows in random minibatches of about `batch_size`, each row once."""
        return minibatches(rows, batch_size, generator)

    @abstractmethod
    def compute(self, rows: Ints, weights: LossWeights) -> Losses:
        """Put the gradient of the loss over a minibatch into `network.flat.gradient`."""


class AutogradGradient(LossGradient):
    """For any network on any device."""

    def __init__(self, network: ActorCritic) -> None:
        self._network = network

    def evaluate(self, trajectories: Trajectories, batch: Batch) -> Evaluation:
        log_prob, values = self.rows(batch)
        final = [torch.as_tensor(array, device=log_prob.device) for array in trajectories.final_observations]
        return Evaluation(log_prob.cpu().numpy(), values.cpu().numpy(), self.values(final).cpu().numpy())

    @torch.no_grad()
    def rows(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Log-probability of each row's action, float32[n], and values, float32[n, signals]."""
        network, log_probs, values = self._network, [], []
        actions = action_columns(batch)
        observations = batch.observations
        for rows in even_slices(len(batch), rows_at_once(network.spec)):
            outputs, value = network([observation[rows] for observation in observations])
            log_prob, _ = log_prob_and_entropy(outputs, network.log_std, actions.rows(rows), network.form)
            log_probs.append(log_prob)
            values.append(value)
        return torch.cat(log_probs), torch.cat(values)

    @torch.no_grad()
    def values(self, observations: Sequence[Tensor]) -> Tensor:
        """Values of observations, one tensor [n, *shape] each: float32[n, signals]."""
        parts = [
            self._network.value([observation[rows] for observation in observations])
            for rows in even_slices(len(observations[0]), rows_at_once(self._network.spec))
        ]
        return torch.cat(parts)

    def load(self, rollout: Batch, signals: Sequence[str]) -> None:
        self._rollout = LoadedRollout(rollout, signals)

    def compute(self, rows: Ints, weights: LossWeights) -> Losses:
        minibatch = self._rollout.take(rows)
        outputs, values = self._network(minibatch.batch.observations)
        return differentiate(self._network, outputs, values, minibatch, weights)


class LoadedRollout:
    """Rows to learn from, with the columns of all value heads side by side.

    Attributes:
        batch: The rows.
        returns, old_values: float32[n, signals].
    """

    def __init__(self, batch: Batch, signals: Sequence[str]) -> None:
        self.batch = batch
        self.returns = stack_columns(batch, "returns", signals)
        self.old_values = stack_columns(batch, "values", signals)

    def take(self, rows: Ints) -> Minibatch:
        """Some of the rows."""
        indices = torch.from_numpy(rows).to(self.returns.device)
        return Minibatch(self.batch.take(indices), self.returns[indices], self.old_values[indices])


@dataclass(frozen=True, slots=True)
class Minibatch:
    """Some of a rollout's rows; attributes as of `LoadedRollout`."""

    batch: Batch
    returns: Tensor
    old_values: Tensor


def differentiate(
    network: ActorCritic, outputs: Tensor, values: Tensor, minibatch: Minibatch, weights: LossWeights
) -> Losses:
    """Put the gradient of the loss into `network.flat.gradient`.

    Args:
        network: What gave outputs and values.
        outputs: float32[n, form.outputs], of the actor.
        values: float32[n, signals].
        minibatch: The n rows.
        weights: Of the loss.
    """
    batch = minibatch.batch
    log_prob, entropy = log_prob_and_entropy(outputs, network.log_std, action_columns(batch), network.form)
    log_ratio = log_prob - batch["log_prob"]
    ratio = log_ratio.exp()
    policy = clipped_policy_loss(ratio, batch["advantage"], weights.epsilon)
    mean_entropy = entropy.mean()
    loss = policy - weights.beta * mean_entropy
    value = torch.zeros((), device=loss.device)
    if values.shape[1]:
        value = value_loss(values, minibatch.returns, minibatch.old_values, weights.value_clip_range)
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


def rows_at_once(spec: BehaviorSpec) -> int:
    """About how many rows a network sees at once outside of minibatches: fewer of images, which become floats there."""
    return max(_FEWEST_ROWS, min(_MOST_ROWS, _NUMBERS // sum(observation.size for observation in spec.observations)))


def even_slices(rows: int, size: int) -> list[slice]:
    """All rows in slices as near to `size` as an even split comes; at least one slice."""
    count = max(1, round(rows / size))
    return [slice(rows * part // count, rows * (part + 1) // count) for part in range(count)]
