"""A layer whose weights a goal chooses (Galanti & Wolf 2020, as Unity ML-Agents' hypernetworks)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from agents_core.networks.initialisation import Initialiser

_NUMBERS = 2**24
"""Weights that are made at once: each row has its own."""


class GoalLayer(nn.Module):
    """A linear layer whose weights two hidden layers make from each row's goal; its bias is learned as usual.

    Args:
        inputs: Width of what it is applied to.
        outputs: Width of its output, and of the hidden layers that make the weights.
        goals: Width of the goals.
        initialiser: Draws the first weights.
    """

    def __init__(self, inputs: int, outputs: int, goals: int, initialiser: Initialiser) -> None:
        super().__init__()
        self._shape = (outputs, inputs)
        self.code = nn.Sequential(
            initialiser.linear(goals, outputs),
            nn.SiLU(),
            initialiser.linear(outputs, outputs),
            nn.SiLU(),
            nn.LayerNorm(outputs, elementwise_affine=False),
        )
        # Codes have deviation 1, so that first outputs stand in one ratio to the inputs, whatever the widths.
        self.weights = initialiser.uniform_linear(outputs, outputs * inputs, 1 / math.sqrt(outputs * inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, hidden: Tensor, goal: Tensor) -> Tensor:
        """float32[n, outputs] of hidden [n, inputs] and goals [n, goals]."""
        codes, columns = self.code(goal), hidden.unsqueeze(2)
        rows = max(1, _NUMBERS // math.prod(self._shape))
        parts = [slice(start, start + rows) for start in range(0, max(1, len(hidden)), rows)]
        outputs = [self.weights(codes[part]).view(-1, *self._shape) @ columns[part] for part in parts]
        return torch.cat(outputs).squeeze(2) + self.bias
