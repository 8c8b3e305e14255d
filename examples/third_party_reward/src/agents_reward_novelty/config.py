"""Options of the reward signal."""

from agents_core.options import RewardSignalConfig
from pydantic import Field


class NoveltyConfig(RewardSignalConfig):
    """Pays for what was seldom seen."""

    bin_width: float = Field(
        default=0.25, gt=0, description="Width of the bins that the numbers of an observation are sorted into."
    )
    table_size: int = Field(
        default=65_536,
        ge=1,
        le=2**26,
        description="Counters of bins; those that share one by chance are counted as one.",
    )
