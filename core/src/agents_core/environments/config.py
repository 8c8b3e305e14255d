"""Config models of core's worker pools: the `environment.workers` section."""

from __future__ import annotations

from pydantic import Field

from agents_core.options import ConfigModel


class InlineConfig(ConfigModel):
    """`workers: {type: inline}`: nothing to set."""


class ProcessConfig(ConfigModel):
    """`workers: {type: process}`."""

    count: int | None = Field(
        None,
        ge=1,
        le=1024,
        description="Worker processes, at most one an environment; null = one an environment, up to one a CPU.",
    )
    step_timeout: float = Field(
        60.0,
        gt=0,
        le=86_400,
        description="Seconds that a worker may take for a step or reset of its environments; then it counts as hung.",
    )
    start_timeout: float = Field(
        300.0,
        gt=0,
        le=86_400,
        description="Seconds that a worker may take to start and to make its environments.",
    )
    max_restarts: int = Field(
        3,
        ge=0,
        le=1_000_000,
        description="How many times in a run each worker may be replaced after it died or hung.",
    )
