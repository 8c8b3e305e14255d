"""From observations to one vector: an encoder for each observation, joined and followed by hidden layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from agents_core.contracts.encoder import ChosenEncoder
from agents_core.networks.encoders.choice import build_encoder, width_of
from agents_core.networks.initialisation import Initialiser
from agents_core.networks.normaliser import RunningNormaliser
from agents_core.options import BodyConfig
from agents_core.spec import BehaviorSpec

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "swish": nn.functional.silu,
}


def build_normalisers(
    spec: BehaviorSpec, config: BodyConfig, device: torch.device
) -> tuple[RunningNormaliser | None, ...]:
    """For each observation its normaliser, or None where it has none: `normalize` is about vectors only."""
    return tuple(
        RunningNormaliser(observation.size, device) if config.normalize and observation.kind == "vector" else None
        for observation in spec.observations
    )


class Body(nn.Module):
    """Encodes every observation, joins the codes and applies the hidden layers.

    Args:
        spec: What is observed.
        config: Sizes and methods.
        encoders: Chosen ones by observation name; others are the default of their observation.
        normalisers: For each observation its normaliser, or None.
        generator: Source of the first weights.

    Attributes:
        output_size: Width of what `forward` returns.
    """

    def __init__(
        self,
        spec: BehaviorSpec,
        config: BodyConfig,
        encoders: Mapping[str, ChosenEncoder],
        normalisers: Sequence[RunningNormaliser | None],
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        initialiser = Initialiser(config.initialization, generator)
        self._normalisers = tuple(normalisers)
        self.encoders = nn.ModuleList(
            build_encoder(observation, encoders.get(observation.name), config, generator)
            for observation in spec.observations
        )
        joined = sum(width_of(encoder) for encoder in self.encoders)
        widths = [joined] + [config.hidden_units] * config.num_layers
        self.linear_layers = [initialiser.linear(inputs, outputs) for inputs, outputs in pairwise(widths)]
        self.layers = nn.ModuleList(self.linear_layers)
        self.output_size = config.hidden_units
        self._activation = ACTIVATIONS[config.activation]

    def forward(self, observations: Sequence[Tensor]) -> Tensor:
        """float32[n, output_size] of one tensor [n, *shape] for each observation."""
        codes = [
            encoder(observation if normaliser is None else _normalised(observation, normaliser))
            for encoder, observation, normaliser in zip(self.encoders, observations, self._normalisers, strict=True)
        ]
        hidden = codes[0] if len(codes) == 1 else torch.cat(codes, dim=1)
        for layer in self.linear_layers:
            hidden = self._activation(layer(hidden))
        return hidden


def _normalised(observation: Tensor, normaliser: RunningNormaliser) -> Tensor:
    return normaliser.normalise(observation.flatten(1)).view(observation.shape)
