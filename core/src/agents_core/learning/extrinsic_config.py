"""Options of the extrinsic reward."""

from __future__ import annotations

from pydantic import Field

from agents_core.options import RewardSignalConfig


class ExtrinsicConfig(RewardSignalConfig):
    """The environment's own reward, plus the group's."""

    normalize: bool = Field(
        default=False, description="Divide rewards by the running deviation of the discounted return, and clip to ±10."
    )
