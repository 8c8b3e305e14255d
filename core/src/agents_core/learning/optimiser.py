"""Adam on flat parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from agents_core.networks.flat import FlatParameters


class FlatAdam:
    """Adam (Kingma & Ba 2015) over all parameters at once, with clipping of the gradient's norm.

    A handful of in-place operations on one array costs less than torch's fused optimiser: NumPy's on the CPU, where
    they share memory with the parameters, torch's elsewhere.

    Attributes:
        parameters: What is optimised.
        steps: Steps taken.
    """

    def __init__(
        self, parameters: FlatParameters, *, betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-5
    ) -> None:
        self.parameters = parameters
        self.steps = 0
        self._betas = betas
        self._epsilon = epsilon
        self._mean = torch.zeros_like(parameters.values)
        self._square = torch.zeros_like(parameters.values)
        arrays = [parameters.values, parameters.gradient, self._mean, self._square, torch.empty_like(self._mean)]
        self._on_host = parameters.values.device.type == "cpu"
        self._operations: Any = np if self._on_host else torch
        self._arrays: list[Any] = [array.numpy() if self._on_host else array for array in arrays]

    def step(self, learning_rate: float, max_norm: float | None = None) -> None:
        """Move against `parameters.gradient`, taken as scaled down to a norm of `max_norm` where it is larger."""
        multiply, add, operations = self._operations.multiply, self._operations.add, self._operations
        values, gradient, mean, square, scratch = self._arrays
        first, second = self._betas
        self.steps += 1
        # v = β₂ v + (1 - β₂) g²
        multiply(gradient, gradient, out=scratch)
        scale = 1.0 if max_norm is None else self._scale(scratch, max_norm)
        multiply(scratch, scale * scale * (1 - second), out=scratch)
        multiply(square, second, out=square)
        add(square, scratch, out=square)
        # m = β₁ m + (1 - β₁) g
        multiply(gradient, scale * (1 - first), out=scratch)
        multiply(mean, first, out=mean)
        add(mean, scratch, out=mean)
        # θ -= lr · m̂ / (√v̂ + ε) with m̂ = m / (1 - β₁ᵗ) and v̂ = v / (1 - β₂ᵗ)
        operations.sqrt(square, out=scratch)
        multiply(scratch, 1 / math.sqrt(1 - second**self.steps), out=scratch)
        add(scratch, self._epsilon, out=scratch)
        operations.divide(mean, scratch, out=scratch)
        multiply(scratch, learning_rate / (1 - first**self.steps), out=scratch)
        operations.subtract(values, scratch, out=values)

    def _scale(self, squares: Any, max_norm: float) -> Any:
        """Factor that brings the gradient's norm down to `max_norm`: a number, or a tensor that stays on its device."""
        total = squares.sum()
        if self._on_host:
            return min(1.0, max_norm / (math.sqrt(total) + 1e-6))
        return (max_norm / (total.sqrt() + 1e-6)).clamp(max=1.0)

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps, "mean": self._mean.clone(), "square": self._square.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.steps = int(state["steps"])
        self._mean.copy_(torch.as_tensor(state["mean"]))
        self._square.copy_(torch.as_tensor(state["square"]))
