"""Residual convolutions over images (Espeholt et al. 2018, IMPALA)."""

from __future__ import annotations

from torch import Tensor, nn

from agents_core.contracts.encoder import EncoderContext
from agents_core.networks.encoders.config import ImageConfig
from agents_core.networks.encoders.images import ImageEncoder
from agents_core.networks.encoders.pixels import Pixels, check_sides
from agents_core.networks.initialisation import Initialiser

CHANNELS = (16, 32, 32)
BLOCKS = 2


class ResidualBlock(nn.Module):
    """Two convolutions whose outcome is added to their input."""

    def __init__(self, channels: int, initialiser: Initialiser) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.SiLU(),
            initialiser.convolution(channels, channels, 3, padding=1),
            nn.SiLU(),
            initialiser.convolution(channels, channels, 3, padding=1),
        )

    def forward(self, features: Tensor) -> Tensor:
        """float32[n, channels, height, width], as the input."""
        added: Tensor = features + self.layers(features)
        return added


def make_resnet(context: EncoderContext[ImageConfig]) -> ImageEncoder:
    """The encoder `resnet`."""
    observation = context.observation
    check_sides("resnet", observation)
    initialiser = Initialiser(context.initialization, context.generator)
    layers: list[nn.Module] = []
    inputs = observation.shape[2]
    for outputs in CHANNELS:
        layers += [initialiser.convolution(inputs, outputs, 3, padding=1), nn.MaxPool2d(3, 2)]
        layers += [ResidualBlock(outputs, initialiser) for _ in range(BLOCKS)]
        inputs = outputs
    stacked = nn.Sequential(*layers, nn.SiLU())
    config = context.config
    pixels = Pixels(observation, config.scale)
    return ImageEncoder(
        pixels, stacked, observation.shape, context.hidden_units, initialiser, nn.ReLU(), config.precision
    )
