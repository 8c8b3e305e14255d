"""Running mean and deviation of observations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agents_core.columns import Array

Doubles = npt.NDArray[np.float64]

LIMIT = 5.0
"""Normalised values are clipped to [-LIMIT, LIMIT]."""

_CONSTANT = 1e-12
"""A deviation below this part of the mean is what rounding of sums leaves of a constant."""


class RunningMoments:
    """Mean and squared deviations of everything taken in so far, by the parallel formula of Chan et al. (1979).

    Attributes:
        count: Rows taken in.
        mean: float64[size].
        m2: float64[size], sum of squared deviations from the mean.
    """

    def __init__(self, size: int) -> None:
        self.count = 0
        self.mean: Doubles = np.zeros(size)
        self.m2: Doubles = np.zeros(size)

    def update(self, rows: Array) -> None:
        """Take in rows [n, size]."""
        if not len(rows):
            return
        rows = np.asarray(rows, np.float64)
        mean = rows.mean(axis=0)
        delta = mean - self.mean
        total = self.count + len(rows)
        self.m2 += np.square(rows - mean).sum(axis=0) + np.square(delta) * (self.count * len(rows) / total)
        self.mean += delta * (len(rows) / total)
        self.count = total

    def factor(self) -> Doubles:
        """1 / deviation, float64[size]: 0 for components that never changed, 1 before anything was taken in."""
        if not self.count:
            return np.ones_like(self.mean)
        deviation = np.sqrt(self.m2 / self.count)
        moves = deviation > np.abs(self.mean) * _CONSTANT
        return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=moves)

    def state_dict(self) -> dict[str, Any]:
        return {"count": self.count, "mean": self.mean.copy(), "m2": self.m2.copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.count = int(state["count"])
        self.mean = np.array(state["mean"], np.float64)
        self.m2 = np.array(state["m2"], np.float64)


class RunningNormaliser:
    """Maps each component to (x - mean) / deviation, clipped to [-5, 5].

    A component that never changed maps to 0; before anything was taken in, values are only clipped.
    Sums and the subtraction are float64, which keeps values far from zero apart.
    """

    def __init__(self, size: int, device: torch.device) -> None:
        self.moments = RunningMoments(size)
        self._device = device
        self._refresh()

    def update(self, rows: Array) -> None:
        """Take in rows [n, size]."""
        self.moments.update(rows)
        self._refresh()

    def _refresh(self) -> None:
        self._mean = self.moments.mean.copy()
        self._factor = self.moments.factor()
        self._tensors = tuple(torch.from_numpy(part).to(self._device) for part in (self._mean, self._factor))

    def normalise_into(self, rows: Array, out: npt.NDArray[np.float32]) -> None:
        """Write normalised `rows` [n, size] to `out`, float32[n, size]."""
        centred = np.subtract(rows, self._mean)
        centred *= self._factor
        np.maximum(centred, -LIMIT, out=centred)
        np.minimum(centred, LIMIT, out=out, casting="same_kind")

    def normalise(self, rows: Tensor) -> Tensor:
        """Normalised rows, float32[n, size], on the device of the network."""
        mean, factor = self._tensors
        return ((rows - mean) * factor).clamp(-LIMIT, LIMIT).float()

    def state_dict(self) -> dict[str, Any]:
        return self.moments.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.moments.load_state_dict(state)
        self._refresh()
