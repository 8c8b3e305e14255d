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
        """Move against `parameters.gradient`, which is scaled down to a norm of `max_norm` if it is larger."""
        multiply, add, operations = self._operations.multiply, self._operations.add, self._operations
        values, gradient, mean, square, scratch = self._arrays
        if max_norm is not None:
            self._clip(gradient, max_norm)
        first, second = self._betas
        self.steps += 1
        # m = β₁ m + (1 - β₁) g and v = β₂ v + (1 - β₂) g²
        multiply(mean, first, out=mean)
        multiply(gradient, 1 - first, out=scratch)
        add(mean, scratch, out=mean)
        multiply(square, second, out=square)
        multiply(gradient, gradient, out=scratch)
        multiply(scratch, 1 - second, out=scratch)
        add(square, scratch, out=square)
        # θ -= lr · m̂ / (√v̂ + ε) with m̂ = m / (1 - β₁ᵗ) and v̂ = v / (1 - β₂ᵗ)
        operations.sqrt(square, out=scratch)
        multiply(scratch, 1 / math.sqrt(1 - second**self.steps), out=scratch)
        add(scratch, self._epsilon, out=scratch)
        operations.divide(mean, scratch, out=scratch)
        multiply(scratch, learning_rate / (1 - first**self.steps), out=scratch)
        operations.subtract(values, scratch, out=values)

    def _clip(self, gradient: Any, max_norm: float) -> None:
        if not self._on_host:
            gradient.mul_((max_norm / (torch.linalg.vector_norm(gradient) + 1e-6)).clamp_(max=1.0))
            return
        norm = math.sqrt(float(np.dot(gradient, gradient)))
        if norm > max_norm:
            np.multiply(gradient, max_norm / (norm + 1e-6), out=gradient)

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps, "mean": self._mean.clone(), "square": self._square.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.steps = int(state["steps"])
        self._mean.copy_(torch.as_tensor(state["mean"]))
        self._square.copy_(torch.as_tensor(state["square"]))
