"""Networks of random network distillation (Burda et al. 2018)."""

from __future__ import annotations

import torch
from agents_core.columns import Batch
from agents_core.contracts.reward_signal import RewardSignalContext
from agents_core.networks.body import ACTIVATIONS
from agents_core.networks.features import FeatureNetwork, ObservationNormaliser
from agents_core.networks.initialisation import Initialiser, torch_generator
from torch import Tensor, nn

from agents_reward_rnd.config import RNDConfig

EXTRA_LAYERS = 2
"""Hidden layers that the trained network has more than the fixed one, as in the paper's code."""


class RNDModel(nn.Module):
    """A fixed random network, one that learns to give the same, and the normaliser of what both see.

    Attributes:
        target: The fixed network.
        predictor: The trained one.
    """

    def __init__(self, context: RewardSignalContext[RNDConfig]) -> None:
        super().__init__()
        config, encoders, spec = context.config, context.encoders, context.spec
        self.normaliser = None
        if config.network.normalize:
            self.normaliser = ObservationNormaliser(spec, context.device, ("vector", "goal", "image"))
            spec, encoders = self.normaliser.spec, self.normaliser.encoders(encoders)
        generator = torch_generator(context.seed)
        body = config.network.model_copy(update={"normalize": False})
        make = Initialiser(body.initialization, generator).linear
        self.target = nn.Sequential(
            FeatureNetwork(spec, body, context.device, generator, encoders),
            make(body.hidden_units, config.features),
        )
        extra: list[nn.Module] = []
        for _ in range(EXTRA_LAYERS):
            extra += [make(body.hidden_units, body.hidden_units), _Activation(body.activation)]
        self.predictor = nn.Sequential(
            FeatureNetwork(spec, body, context.device, generator, encoders),
            *extra,
            make(body.hidden_units, config.features),
        )
        self.to(context.device)

    def observe(self, batch: Batch) -> None:
        """Let the normaliser take in what was seen after each action."""
        if self.normaliser is not None:
            self.normaliser.observe(batch.next_observations)

    def error(self, batch: Batch) -> Tensor:
        """Σ (f̂(s') - f(s'))² of each row, float32[n]; gradients reach the trained network."""
        seen = batch.next_observations
        if self.normaliser is not None:
            seen = self.normaliser(seen)
        with torch.no_grad():
            fixed = self.target(seen)
        error: Tensor = (self.predictor(seen) - fixed).square().sum(dim=1)
        return error


class _Activation(nn.Module):
    def __init__(self, name: str) -> None:
        super().__init__()
        self._function = ACTIVATIONS[name]

    def forward(self, hidden: Tensor) -> Tensor:
        return self._function(hidden)
