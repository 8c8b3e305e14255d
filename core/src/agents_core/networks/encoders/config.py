"""Options of core's encoders."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from agents_core.options import ConfigModel

Precision = Literal["float32", "bfloat16"]


class VectorConfig(ConfigModel):
    """Numbers, passed on as they are."""


class ImageConfig(ConfigModel):
    """Images of pixels."""

    scale: Literal["auto", "none"] = Field(
        default="auto",
        description="`auto`: bytes become numbers in [0, 1], other numbers must lie there; `none`: as they are.",
    )
    precision: Precision = Field(
        default="float32",
        description="Of this encoder's arithmetic; its weights are float32 either way. `bfloat16` is up to twice as "
        "fast where the hardware has instructions for it, and slower elsewhere.",
    )


class SymbolicConfig(ConfigModel):
    """Small grids of symbols, whose numbers are taken as they are."""


class EntitiesConfig(ConfigModel):
    """A varying number of entities; an entity whose numbers are all 0 is padding."""

    embedding: int = Field(default=128, ge=1, le=8192, description="Width of each entity's code.")
    heads: int = Field(default=4, ge=1, le=64, description="Heads of the self-attention; they share `embedding`.")

    @model_validator(mode="after")
    def _heads_share_the_embedding(self) -> EntitiesConfig:
        if self.embedding % self.heads:
            raise ValueError(f"embedding ({self.embedding}) must be a multiple of heads ({self.heads})")
        return self
