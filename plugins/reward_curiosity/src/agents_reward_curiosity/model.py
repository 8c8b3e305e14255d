"""Networks and losses of the Intrinsic Curiosity Module (Pathak et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from agents_core.columns import Batch
from agents_core.contracts.reward_signal import RewardSignalContext
from agents_core.networks.features import FeatureNetwork, flat_actions
from agents_core.networks.initialisation import Initialiser, torch_generator
from torch import Tensor, nn

from agents_reward_curiosity.config import CuriosityConfig

LOSS_SCALE, FORWARD_WEIGHT = 10.0, 0.2
"""1/λ and β of equation 7."""


@dataclass(frozen=True, slots=True)
class CuriosityLosses:
    """Scalars of a minibatch.

    Attributes:
        forward: Mean over rows of ½ Σ (φ(s') - φ̂(s'))² (equation 5).
        inverse: Mean over rows of Σ (a - â)² of continuous actions plus the cross-entropy of each branch (equation 3).
    """

    forward: Tensor
    inverse: Tensor

    @property
    def total(self) -> Tensor:
        """What is minimised; gradients of both parts reach the encoder."""
        return LOSS_SCALE * (FORWARD_WEIGHT * self.forward + (1 - FORWARD_WEIGHT) * self.inverse)


class CuriosityModel(nn.Module):
    """An encoder φ for what is seen before and after an action, and two models in its features.

    The inverse model tells from φ(s) and φ(s') which action was between them, so that features hold what actions
    change; the forward model foretells φ(s') from φ(s) and the action.
    """

    def __init__(self, context: RewardSignalContext[CuriosityConfig]) -> None:
        super().__init__()
        config, network, self._action = context.config, context.config.network, context.spec.action
        generator = torch_generator(context.seed)
        self.encoder = FeatureNetwork(context.spec, network, context.device, generator, context.encoders)
        make, features = Initialiser(network.initialization, generator).linear, self.encoder.output_size
        outputs = self._action.continuous_size + self._action.mask_size
        self.inverse_model = nn.Sequential(
            make(2 * features, config.model_units), nn.SiLU(), make(config.model_units, outputs, 1.0)
        )
        self.forward_model = nn.Sequential(
            make(features + outputs, config.model_units), nn.SiLU(), make(config.model_units, features, 1.0)
        )
        self.to(context.device)

    def surprise(self, batch: Batch) -> Tensor:
        """½ Σ (φ(s') - φ̂(s'))² of each row, float32[n]."""
        return self._surprise(*self._encode(batch), flat_actions(batch, self._action))

    def losses(self, batch: Batch) -> CuriosityLosses:
        """Of a minibatch."""
        before, after = self._encode(batch)
        forward = self._surprise(before, after, flat_actions(batch, self._action)).mean()
        return CuriosityLosses(forward, self._inverse_error(before, after, batch).mean())

    def _encode(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Features before and after the action, float32[n, features] each."""
        both = [torch.cat(pair) for pair in zip(batch.observations, batch.next_observations, strict=True)]
        before, after = self.encoder(both).split(len(batch))
        return before, after

    def _surprise(self, before: Tensor, after: Tensor, actions: Tensor) -> Tensor:
        foretold = self.forward_model(torch.cat([before, actions], dim=1))
        error: Tensor = 0.5 * (after - foretold).square().sum(dim=1)
        return error

    def _inverse_error(self, before: Tensor, after: Tensor, batch: Batch) -> Tensor:
        """How far each row's guessed action is from the one taken, float32[n]."""
        guessed = self.inverse_model(torch.cat([before, after], dim=1))
        sizes = [self._action.continuous_size, *self._action.discrete_branches]
        numbers, *branches = guessed.split(sizes, dim=1)
        error: Tensor = (batch["action.continuous"] - numbers).square().sum(dim=1)
        for branch, logits in enumerate(branches):
            error = error + nn.functional.cross_entropy(logits, batch["action.discrete"][:, branch], reduction="none")
        return error
