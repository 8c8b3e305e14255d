"""Options of random network distillation."""

from __future__ import annotations

from typing import Literal

from agents_core.options import BodyConfig, RewardSignalConfig
from pydantic import Field


class RNDNetworkConfig(BodyConfig):
    """The fixed network; the trained one has two more hidden layers."""

    activation: Literal["tanh", "relu", "swish"] = Field(
        default="relu", description="Non-linearity of the hidden layers."
    )
    normalize: bool = Field(
        default=True,
        description="Normalise all observations but entities by their running mean and deviation, clipped to ±5.",
    )


class RNDConfig(RewardSignalConfig):
    """Random Network Distillation: what the agent saw often is foreseen, the rest is rewarded."""

    network: RNDNetworkConfig = Field(
        default=RNDNetworkConfig(), description="Encoders and hidden layers of both networks, apart from the policy's."
    )
    features: int = Field(default=64, ge=1, le=8192, description="Outputs of both networks.")
    learning_rate: float = Field(default=1e-4, gt=0, le=1, description="Step size of the signal's own Adam.")
    normalize: bool = Field(
        default=True, description="Divide rewards by the running deviation of their discounted return."
    )
    ignores_termination: bool = Field(
        default=True, description="Whether the value of novelty goes on across the end of an episode."
    )
