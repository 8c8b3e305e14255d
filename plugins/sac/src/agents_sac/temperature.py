"""The temperature: how much an entropy is worth, found by itself (Haarnoja et al. 2018, section 5)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from agents_core.learning.optimiser import FlatAdam
from agents_core.networks.flat import FlatParameters
from agents_core.spec import ActionSpec
from torch import Tensor, nn

from agents_sac.config import SACConfig


class Temperature(nn.Module):
    """log α of the continuous actions together and of each discrete branch, with an optimiser of its own.

    Attributes:
        names: Of the parts, for statistics.
        log_alpha: float32[parts].
    """

    def __init__(self, action: ActionSpec, config: SACConfig, device: torch.device) -> None:
        super().__init__()
        self._action = action
        self._discrete_target = config.discrete_target_entropy
        self._continuous_target = -float(action.continuous_size)
        if config.target_entropy is not None:
            self._continuous_target = config.target_entropy
        parts = ["continuous"] if action.continuous_size else []
        parts += [f"branch_{branch}" for branch in range(len(action.discrete_branches))]
        self.names = ["temperature"] if len(parts) == 1 else [f"temperature_{part}" for part in parts]
        self.log_alpha = nn.Parameter(torch.full((len(parts),), math.log(config.init_entcoef), device=device))
        self._flat = FlatParameters(self)
        self._optimiser = FlatAdam(self._flat, epsilon=1e-8)

    @torch.no_grad()
    def alpha(self) -> Tensor:
        """α of each part, float32[parts], without gradient."""
        return self.log_alpha.exp()

    def targets(self, mask: Tensor | None) -> Tensor:
        """Entropy that each part is steered to: float32[parts], or [n, parts] where masks leave fewer choices.

        Args:
            mask: bool[n, sum of branches], True = allowed; None = everything is.
        """
        sizes, device = self._action.discrete_branches, self.log_alpha.device
        fixed = [self._continuous_target] if self._action.continuous_size else []
        if mask is None or not sizes:
            targets = fixed + [self._discrete_target * math.log(size) for size in sizes]
            return torch.tensor(targets, device=device)
        legal = torch.stack([part.sum(dim=1) for part in torch.split(mask, list(sizes), dim=1)], dim=1)
        continuous = torch.tensor(fixed, device=device).expand(len(mask), -1)
        return torch.cat([continuous, self._discrete_target * legal.float().log()], dim=1)

    def step(self, mean_excess: Tensor, learning_rate: float) -> None:
        """Lower α where there is more entropy than its target, raise it where there is less.

        Args:
            mean_excess: float32[parts], mean of `losses.entropy_excess`.
            learning_rate: Of Adam.
        """
        self._flat.gradient.copy_(mean_excess)
        self._optimiser.step(learning_rate)

    def state(self) -> dict[str, Any]:
        """Everything needed to continue."""
        return {"log_alpha": self.log_alpha.detach().clone(), "optimiser": self._optimiser.state_dict()}

    @torch.no_grad()
    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` gave."""
        self.log_alpha.copy_(torch.as_tensor(state["log_alpha"]))
        self._optimiser.load_state_dict(state["optimiser"])
