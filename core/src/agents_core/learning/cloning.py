"""Bringing a policy to demonstrations by gradient steps, alone or beside reinforcement learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from agents_core.contracts.demonstration import Demonstration
from agents_core.contracts.trainer import TrainerContext
from agents_core.demonstrations.loading import load_demonstrations
from agents_core.demonstrations.sampling import DemonstrationSampler
from agents_core.learning.cloning_config import CloningConfig
from agents_core.learning.cloning_loss import CloningError
from agents_core.learning.cloning_rows import ExpertRows, Int64s, expert_rows
from agents_core.learning.finite import check_losses, check_weights
from agents_core.learning.optimiser import FlatAdam
from agents_core.learning.rollout import mean_stats
from agents_core.networks.actor_critic import ActorCritic
from agents_core.spec import BehaviorSpec


class Cloner:
    """Takes minibatches of a demonstration and steps of an Adam of its own.

    Minibatches go through the demonstration in random order before anything comes again; one that is smaller than a
    minibatch is taken as a whole.

    Args:
        network: What is to act as the expert did.
        rows: The demonstration, for this network.
        batch_size: Rows of a minibatch, about.
        seed: Of the order.
    """

    def __init__(self, network: ActorCritic, rows: ExpertRows, batch_size: int, seed: np.random.SeedSequence) -> None:
        self._network = network
        self._rows = rows
        self._units = rows.units_of(batch_size)
        self._sampler = DemonstrationSampler(np.ones(len(rows.unit_lengths), np.int64), seed)
        self._optimiser = FlatAdam(network.flat)
        self._rows_to_refresh = 0

    def train(
        self, rows: int, learning_rate: float, place: str, max_norm: float | None = None
    ) -> tuple[dict[str, float], int]:
        """Train on about so many rows.

        Args:
            rows: At least one minibatch is taken.
            learning_rate: Step size.
            place: Behavior and step, for messages.
            max_norm: Gradients with a larger norm are scaled down to it.

        Returns:
            Means over the minibatches: `loss` and what `cloning_stats` gives; and the rows that were trained on.

        Raises:
            NonFiniteError: A loss or a weight became NaN or infinite.
        """
        collected, trained = [], 0
        while trained < rows:
            if self._rows_to_refresh <= 0:
                self._rows.refresh()
                self._rows_to_refresh = len(self._rows)
            units = self._sampler.sample(self._units)
            collected.append(cloning_losses(self._network, self._rows, units, place))
            self._optimiser.step(learning_rate, max_norm)
            count = int(self._rows.unit_lengths[units].sum())
            trained += count
            self._rows_to_refresh -= count
        check_weights(self._network, self._network.flat.values, place)
        return mean_stats(collected), trained

    def state_dict(self) -> dict[str, Any]:
        return {
            "optimiser": self._optimiser.state_dict(),
            "sampler": self._sampler.state_dict(),
            "rows": self._rows.state_dict(),
            "rows_to_refresh": self._rows_to_refresh,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._optimiser.load_state_dict(state["optimiser"])
        self._sampler.load_state_dict(state["sampler"])
        self._rows.load_state_dict(state["rows"])
        self._rows_to_refresh = state["rows_to_refresh"]


def cloning_losses(network: ActorCritic, rows: ExpertRows, units: Int64s, place: str) -> dict[str, float]:
    """Put the gradient of the loss over some units into `network.flat.gradient`.

    Returns:
        `loss` and what `cloning_stats` gives.

    Raises:
        NonFiniteError: A number is NaN or infinite; `place` says where.
    """
    error = rows.error(units)
    loss = error.loss.mean()
    network.flat.differentiate(loss)
    stats = {"loss": float(loss.detach()), **cloning_stats(error, network.spec)}
    check_losses(stats, place)
    return stats


class BehavioralCloning:
    """The `behavioral_cloning:` section of a trainer: `update` after each of the trainer's own updates.

    Args:
        network: Its policy.
        config: The section.
        batch_size: The trainer's own, where the section has none.
        behavior: Name of the behavior, for messages.
        seed: Of the order of the demonstration.
        demonstration: What to clone.
    """

    def __init__(
        self,
        network: ActorCritic,
        config: CloningConfig,
        batch_size: int,
        behavior: str,
        seed: np.random.SeedSequence,
        demonstration: Demonstration,
    ) -> None:
        self._config = config
        self._behavior = behavior
        episodes = demonstration.episodes
        rows = expert_rows(network, episodes.columns, episodes.lengths, config.loss)
        self._rows_of_pass = min(config.samples_per_update or len(rows), len(rows))
        self._cloner = Cloner(network, rows, config.batch_size or batch_size, seed)

    def strength(self, step: int) -> float:
        """What the trainer's learning rate is multiplied by at a step of the run: it falls linearly to 0."""
        config = self._config
        return config.strength * (max(0.0, 1 - step / config.steps) if config.steps else 1.0)

    def update(self, step: int, learning_rate: float) -> dict[str, float]:
        """Clone for `num_epoch` passes, unless the strength has fallen to 0.

        Args:
            step: Of the run, after which this update comes.
            learning_rate: The trainer's at this step.

        Returns:
            Statistics under their full names, also of the strength.
        """
        strength = self.strength(step)
        stats = {"train/cloning_strength": strength}
        if not strength:
            return stats
        place = f"behavior {self._behavior!r}, step {step}, behavioral_cloning"
        passes = [
            self._cloner.train(self._rows_of_pass, strength * learning_rate, place)[0]
            for _ in range(self._config.num_epoch)
        ]
        return stats | {f"train/cloning_{name}": value for name, value in mean_stats(passes).items()}

    def state_dict(self) -> dict[str, Any]:
        return self._cloner.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._cloner.load_state_dict(state)


def cloning_stats(error: CloningError, spec: BehaviorSpec) -> dict[str, float]:
    """`nll`; of continuous actions `error`, the root of the mean squared error; of discrete ones `accuracy`."""
    with torch.no_grad():
        stats = {"nll": float(error.nll.mean())}
        if spec.action.continuous_size:
            stats["error"] = float(error.squared_error.mean().sqrt())
        if spec.action.discrete_branches:
            stats["accuracy"] = float(error.accuracy.mean())
    return stats


@torch.no_grad()
def validate(rows: ExpertRows, spec: BehaviorSpec) -> dict[str, float]:
    """`cloning_stats` over all rows of a demonstration, without learning from it."""
    rows.refresh()
    errors = [rows.error(part) for part in rows.parts()]
    joined = CloningError(
        *(torch.cat([getattr(error, name) for error in errors]) for name in CloningError.__dataclass_fields__)
    )
    return cloning_stats(joined, spec)


def load_cloning(
    network: ActorCritic,
    config: CloningConfig,
    batch_size: int,
    context: TrainerContext[Any],
    seed: np.random.SeedSequence,
) -> BehavioralCloning:
    """`BehavioralCloning` of the demonstrations that the section names, for the trainer of this context.

    Raises:
        DemonstrationError: They are missing, empty or of another spec.
    """
    demonstration = load_demonstrations(config.demo_path, spec=network.spec, registry=context.registry)
    return BehavioralCloning(network, config, batch_size, context.behavior, seed, demonstration)
