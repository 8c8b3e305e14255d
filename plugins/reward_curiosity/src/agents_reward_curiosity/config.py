"""Options of curiosity."""

from __future__ import annotations

from agents_core.options import BodyConfig, RewardSignalConfig
from pydantic import Field


class CuriosityConfig(RewardSignalConfig):
    """Intrinsic Curiosity Module: what the agent cannot foresee of its own doing is rewarded."""

    network: BodyConfig = Field(default=BodyConfig(), description="Encoder of observations, apart from the policy's.")
    model_units: int = Field(
        default=256, ge=1, le=8192, description="Width of the hidden layer of the inverse and of the forward model."
    )
    learning_rate: float = Field(default=3e-4, gt=0, le=1, description="Step size of the signal's own Adam.")
    normalize: bool = Field(
        default=False, description="Divide rewards by the running deviation of their discounted return."
    )
    ignores_termination: bool = Field(
        default=True, description="Whether the value of novelty goes on across the end of an episode."
    )
