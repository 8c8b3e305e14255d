"""Layers whose first weights come from an explicit generator."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn


def torch_generator(seed: np.random.SeedSequence) -> torch.Generator:
    """A CPU generator seeded from `seed`; weights drawn from it are the same on every device."""
    return torch.Generator().manual_seed(int(seed.generate_state(1, np.uint64)[0] >> np.uint64(1)))


def orthogonal_linear(inputs: int, outputs: int, gain: float, generator: torch.Generator) -> nn.Linear:
    """A linear layer with orthogonal weights (Saxe et al. 2014) times `gain` and zero bias."""
    layer = _UndrawnLinear(inputs, outputs)
    if outputs:
        nn.init.orthogonal_(layer.weight, gain, generator=generator)
    nn.init.zeros_(layer.bias)
    return layer


class _UndrawnLinear(nn.Linear):
    """A plain one would first draw weights from torch's global generator."""

    def reset_parameters(self) -> None:
        """Leave the weights to the caller."""
