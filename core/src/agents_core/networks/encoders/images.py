"""Encoders of images; layers and sizes are those of Unity ML-Agents' `vis_encode_type`."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from agents_core.contracts.encoder import EncoderContext
from agents_core.networks.encoders.config import ImageConfig, Precision, SymbolicConfig
from agents_core.networks.encoders.pixels import Pixels, check_sides
from agents_core.networks.initialisation import Initialiser

ImageContext = EncoderContext[ImageConfig]
Convolution = tuple[int, int, int]
"""Channels, kernel and stride."""


class ImageEncoder(nn.Module):
    """Convolutions, then one dense layer.

    Args:
        pixels: Turns images into float32[n, channels, height, width].
        convolutions: Turns those into features.
        shape: Shape of one image, channels last.
        output_size: Width of the code.
        initialiser: Makes the dense layer.
        activation: Of the dense layer.
        precision: Of the arithmetic; weights, their gradients and the code are float32 (Micikevicius et al. 2018).

    Attributes:
        output_size: Width of what `forward` returns.
    """

    def __init__(
        self,
        pixels: Pixels,
        convolutions: nn.Module,
        shape: tuple[int, ...],
        output_size: int,
        initialiser: Initialiser,
        activation: nn.Module,
        precision: Precision = "float32",
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self._is_narrow = precision == "bfloat16"
        self.pixels = pixels
        self.convolutions = convolutions
        height, width, channels = shape
        with torch.no_grad():
            features = convolutions(torch.zeros(1, channels, height, width)).numel()
        self.dense = initialiser.linear(features, output_size)
        self.activation = activation

    def forward(self, images: Tensor) -> Tensor:
        """float32[n, output_size] of images [n, height, width, channels]."""
        with torch.autocast(images.device.type, torch.bfloat16, enabled=self._is_narrow):
            features = self.convolutions(self.pixels(images))
            code: Tensor = self.activation(self.dense(features.flatten(1)))
        return code.float()


def make_fully_connected(context: ImageContext) -> ImageEncoder:
    """The encoder `fully_connected`: all pixels side by side."""
    return _make("fully_connected", context, ())


def make_simple(context: ImageContext) -> ImageEncoder:
    """The encoder `simple`: two convolutions."""
    return _make("simple", context, [(16, 8, 4), (32, 4, 2)])


def make_nature_cnn(context: ImageContext) -> ImageEncoder:
    """The encoder `nature_cnn` (Mnih et al. 2015)."""
    return _make("nature_cnn", context, [(32, 8, 4), (64, 4, 2), (64, 3, 1)])


def make_match3(context: ImageContext) -> ImageEncoder:
    """The encoder `match3`: small convolutions with many channels, for boards of tiles (Gudmundsson et al. 2018)."""
    return _make("match3", context, [(35, 3, 1), (144, 3, 1)])


def make_symbolic(context: EncoderContext[SymbolicConfig]) -> ImageEncoder:
    """The encoder `symbolic`: two convolutions of 2 x 2, for small grids whose numbers are symbols."""
    observation = context.observation
    check_sides("symbolic", observation)
    return _stack(context, Pixels(observation, "none"), [(16, 2, 1), (32, 2, 1)], nn.ReLU(inplace=True))


def _make(name: str, context: ImageContext, layers: Sequence[Convolution]) -> ImageEncoder:
    check_sides(name, context.observation)
    pixels = Pixels(context.observation, context.config.scale)
    return _stack(context, pixels, layers, nn.LeakyReLU(inplace=True), context.config.precision)


def _stack(
    context: ImageContext | EncoderContext[SymbolicConfig],
    pixels: Pixels,
    layers: Sequence[Convolution],
    activation: nn.Module,
    precision: Precision = "float32",
) -> ImageEncoder:
    initialiser = Initialiser(context.initialization, context.generator)
    shape = context.observation.shape
    convolutions: list[nn.Module] = []
    inputs = shape[2]
    for outputs, kernel, stride in layers:
        convolutions += [initialiser.convolution(inputs, outputs, kernel, stride), activation]
        inputs = outputs
    stacked = nn.Sequential(*convolutions)
    return ImageEncoder(pixels, stacked, shape, context.hidden_units, initialiser, activation, precision)
