"""Vectors and goals: numbers that need no encoding."""

from __future__ import annotations

from torch import Tensor, nn

from agents_core.contracts.encoder import EncoderContext
from agents_core.networks.encoders.config import VectorConfig
from agents_core.spec import ObservationSpec


class VectorEncoder(nn.Module):
    """Passes numbers on, flat.

    Attributes:
        output_size: Width of what `forward` returns.
    """

    def __init__(self, observation: ObservationSpec) -> None:
        super().__init__()
        self.output_size = observation.size

    def forward(self, observation: Tensor) -> Tensor:
        """float32[n, output_size] of an observation [n, *shape]."""
        return observation.flatten(1).float()


def make_vector(context: EncoderContext[VectorConfig]) -> VectorEncoder:
    """The encoder `vector`."""
    return VectorEncoder(context.observation)
