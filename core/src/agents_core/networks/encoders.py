"""From observations to one vector: an encoder for each observation, joined and followed by hidden layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from agents_core.errors import UserError
from agents_core.networks.initialisation import orthogonal_linear
from agents_core.networks.normaliser import RunningNormaliser
from agents_core.options import NetworkConfig
from agents_core.spec import BehaviorSpec, ObservationSpec

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "swish": nn.functional.silu,
}


class VectorEncoder(nn.Module):
    """Passes numbers on, normalised if a normaliser is given.

    Attributes:
        output_size: Width of what `forward` returns.
    """

    def __init__(self, observation: ObservationSpec, normaliser: RunningNormaliser | None) -> None:
        super().__init__()
        self.output_size = observation.size
        self.normaliser = normaliser

    def forward(self, observation: Tensor) -> Tensor:
        """float32[n, output_size] of an observation [n, *shape]."""
        rows = observation.flatten(1)
        return rows.float() if self.normaliser is None else self.normaliser.normalise(rows)


def build_normalisers(
    spec: BehaviorSpec, config: NetworkConfig, device: torch.device
) -> tuple[RunningNormaliser | None, ...]:
    """For each observation its normaliser, or None where it has none: `normalize` is about vectors only."""
    return tuple(
        RunningNormaliser(observation.size, device) if config.normalize and observation.kind == "vector" else None
        for observation in spec.observations
    )


def build_encoder(observation: ObservationSpec, normaliser: RunningNormaliser | None) -> VectorEncoder:
    """The encoder that fits an observation.

    Raises:
        UserError: No encoder takes this kind of observation.
    """
    if observation.kind not in ("vector", "goal"):
        raise UserError(
            f"observation {observation.name!r} of kind {observation.kind!r} and shape {observation.shape} cannot be "
            "encoded: networks take observations of kind 'vector' and 'goal'. Leave it out in the environment, or "
            "flatten it with a wrapper"
        )
    return VectorEncoder(observation, normaliser)


class Body(nn.Module):
    """Encodes every observation, joins the codes and applies the hidden layers.

    Attributes:
        output_size: Width of what `forward` returns.
    """

    def __init__(
        self,
        spec: BehaviorSpec,
        config: NetworkConfig,
        normalisers: Sequence[RunningNormaliser | None],
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        encoders = [build_encoder(*pair) for pair in zip(spec.observations, normalisers, strict=True)]
        widths = [sum(encoder.output_size for encoder in encoders)] + [config.hidden_units] * config.num_layers
        self.encoders = nn.ModuleList(encoders)
        self.linear_layers = [
            orthogonal_linear(inputs, outputs, math.sqrt(2), generator) for inputs, outputs in pairwise(widths)
        ]
        self.layers = nn.ModuleList(self.linear_layers)
        self.output_size = config.hidden_units
        self._activation = ACTIVATIONS[config.activation]

    def forward(self, observations: Sequence[Tensor]) -> Tensor:
        """float32[n, output_size] of one tensor [n, *shape] for each observation."""
        codes = [encoder(observation) for encoder, observation in zip(self.encoders, observations, strict=True)]
        hidden = codes[0] if len(codes) == 1 else torch.cat(codes, dim=1)
        for layer in self.linear_layers:
            hidden = self._activation(layer(hidden))
        return hidden
