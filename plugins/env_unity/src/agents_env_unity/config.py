"""Options of the formats."""

from __future__ import annotations

from typing import Annotated, Literal

from agents_core.options import ConfigModel
from pydantic import BeforeValidator, Field, PositiveInt


class DemoConfig(ConfigModel):
    """How records become transitions."""

    pairing: Literal["auto", "ml-agents"] = Field(
        default="auto",
        description="Which action belongs to an observation: `auto`, the one that was chosen on it; `ml-agents`, the "
        "one of the same record, which in files of the Unity recorder is the one before.",
    )


def _split(value: object) -> object:
    """`3,2` of a command line as its numbers."""
    return value.split(",") if isinstance(value, str) else value


class ReplayBufferConfig(ConfigModel):
    """What a replay buffer of ML-Agents does not say of itself."""

    branches: Annotated[tuple[PositiveInt, ...], BeforeValidator(_split)] | None = Field(
        default=None,
        description="How many choices each discrete branch has, such as `3,3,2`; by default what action masks and the "
        "choices that were taken tell.",
    )
    images: Literal["auto", "float32"] = Field(
        default="auto",
        description="`auto`: images whose numbers all are a byte divided by 255 become bytes; `float32`: they stay as "
        "they are.",
    )
