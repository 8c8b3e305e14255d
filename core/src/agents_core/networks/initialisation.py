"""Layers whose first weights come from an explicit generator."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import torch
from torch import nn

HIDDEN_GAIN = math.sqrt(2)
"""Keeps the size of signals through rectified layers (He et al. 2015)."""


def torch_generator(seed: np.random.SeedSequence) -> torch.Generator:
    """A CPU generator seeded from `seed`; weights drawn from it are the same on every device."""
    return torch.Generator().manual_seed(int(seed.generate_state(1, np.uint64)[0] >> np.uint64(1)))


class Initialiser:
    """Makes layers with zero bias and weights drawn by one method.

    Args:
        method: `orthogonal` (Saxe et al. 2014), times a gain; `kaiming`: normal with the deviation
            gain / √inputs (He et al. 2015).
        generator: Source of the weights.
    """

    def __init__(self, method: Literal["orthogonal", "kaiming"], generator: torch.Generator) -> None:
        self.method = method
        self.generator = generator

    def linear(self, inputs: int, outputs: int, gain: float = HIDDEN_GAIN) -> nn.Linear:
        """A linear layer."""
        layer = _UndrawnLinear(inputs, outputs)
        if outputs:
            self._draw(layer.weight, gain)
        nn.init.zeros_(layer.bias)
        return layer

    def uniform_linear(self, inputs: int, outputs: int, bound: float) -> nn.Linear:
        """A linear layer whose weights lie within ±`bound`, whatever the method."""
        layer = _UndrawnLinear(inputs, outputs)
        nn.init.uniform_(layer.weight, -bound, bound, generator=self.generator)
        nn.init.zeros_(layer.bias)
        return layer

    def convolution(self, inputs: int, outputs: int, kernel: int, stride: int = 1, padding: int = 0) -> nn.Conv2d:
        """A square convolution."""
        layer = _UndrawnConvolution(inputs, outputs, kernel, stride, padding)
        self._draw(layer.weight, HIDDEN_GAIN)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
        return layer

    def _draw(self, weight: torch.Tensor, gain: float) -> None:
        if self.method == "orthogonal":
            nn.init.orthogonal_(weight, gain, generator=self.generator)
        else:
            nn.init.normal_(weight, 0.0, gain / math.sqrt(weight[0].numel()), generator=self.generator)


class _UndrawnLinear(nn.Linear):
    """A plain one would first draw weights from torch's global generator."""

    def reset_parameters(self) -> None:
        """Leave the weights to the caller."""


class _UndrawnConvolution(nn.Conv2d):
    """A plain one would first draw weights from torch's global generator."""

    def reset_parameters(self) -> None:
        """Leave the weights to the caller."""
