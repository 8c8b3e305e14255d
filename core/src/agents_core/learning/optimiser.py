"""Adam on flat parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim.adam import adam

from agents_core.networks.flat import FlatParameters

MANY = 2**19
"""From so many parameters on, torch's fused step is clearly faster than NumPy's plain operations."""


class FlatAdam:
    """Adam (Kingma & Ba 2015) over all parameters at once, with clipping of the gradient's norm.

    On the CPU a handful of NumPy operations on the memory of the parameters costs less than torch's fused step, which
    serves networks of many parameters and other devices.

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
        self._is_fused = parameters.values.device.type != "cpu" or len(parameters.values) >= MANY
        if not self._is_fused:
            arrays = parameters.values, parameters.gradient, self._mean, self._square, torch.empty_like(self._mean)
            self._arrays = [array.numpy() for array in arrays]

    def minimise(self, loss: Tensor, learning_rate: float) -> None:
        """One step down the gradient of a scalar loss."""
        self.parameters.differentiate(loss)
        self.step(learning_rate)

    def step(self, learning_rate: float, max_norm: float | None = None) -> None:
        """Move against `parameters.gradient`, taken as scaled down to a norm of `max_norm` where it is larger."""
        if self._is_fused:
            self._step_by_torch(learning_rate, max_norm)
        else:
            self._step_by_numpy(learning_rate, max_norm)

    @torch.no_grad()
    def _step_by_torch(self, learning_rate: float, max_norm: float | None) -> None:
        values, gradient = self.parameters.values, self.parameters.gradient
        if max_norm is not None:
            gradient.mul_((max_norm / (gradient.norm() + 1e-6)).clamp(max=1.0))
        first, second = self._betas
        adam(
            [values],
            [gradient],
            [self._mean],
            [self._square],
            [],
            [torch.tensor(float(self.steps), device=values.device)],  # It counts on from there.
            fused=True,
            amsgrad=False,
            beta1=first,
            beta2=second,
            lr=learning_rate,
            weight_decay=0.0,
            eps=self._epsilon,
            maximize=False,
        )
        self.steps += 1

    def _step_by_numpy(self, learning_rate: float, max_norm: float | None) -> None:
        values, gradient, mean, square, scratch = self._arrays
        first, second = self._betas
        self.steps += 1
        # v = β₂ v + (1 - β₂) g²
        np.multiply(gradient, gradient, out=scratch)
        scale = 1.0 if max_norm is None else min(1.0, max_norm / (math.sqrt(scratch.sum()) + 1e-6))
        np.multiply(scratch, scale * scale * (1 - second), out=scratch)
        np.multiply(square, second, out=square)
        np.add(square, scratch, out=square)
        # m = β₁ m + (1 - β₁) g
        np.multiply(gradient, scale * (1 - first), out=scratch)
        np.multiply(mean, first, out=mean)
        np.add(mean, scratch, out=mean)
        # θ -= lr · m̂ / (√v̂ + ε) with m̂ = m / (1 - β₁ᵗ) and v̂ = v / (1 - β₂ᵗ)
        np.sqrt(square, out=scratch)
        np.multiply(scratch, 1 / math.sqrt(1 - second**self.steps), out=scratch)
        np.add(scratch, self._epsilon, out=scratch)
        np.divide(mean, scratch, out=scratch)
        np.multiply(scratch, learning_rate / (1 - first**self.steps), out=scratch)
        np.subtract(values, scratch, out=values)

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps, "mean": self._mean.clone(), "square": self._square.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.steps = int(state["steps"])
        self._mean.copy_(torch.as_tensor(state["mean"]))
        self._square.copy_(torch.as_tensor(state["square"]))
