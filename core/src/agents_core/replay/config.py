"""Config models of core's buffers: the `trainer.buffer` section."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agents_core.options import ConfigModel, DemonstrationPath, UnitSchedule
from agents_core.schedules import Schedule


class ReplayConfig(ConfigModel):
    """`buffer: {type: replay}`: every transition is as likely to be sampled as any other."""

    buffer_size: int = Field(
        default=1_000_000, ge=1, le=2**40, description="Transitions that are kept, of all agents together."
    )
    save_replay_buffer: bool = Field(
        default=False,
        description="Whether checkpoints save the transitions, for `resume`; `checkpoints.exact` implies it.",
    )
    compression: Literal["lzf", "gzip", "none"] = Field(
        default="lzf", description="How saved transitions are compressed: fast, small, or not at all."
    )
    demo_path: DemonstrationPath | list[DemonstrationPath] | None = Field(
        default=None, description="Demonstrations that are a part of each minibatch, with their rewards; null = none."
    )
    demo_fraction: float = Field(
        default=0.5, gt=0, lt=1, description="Part of each minibatch that is demonstrations, where there are some."
    )


class PrioritizedReplayConfig(ReplayConfig):
    """`buffer: {type: prioritized}`: transitions with large errors are sampled more often (Schaul et al. 2016)."""

    alpha: float = Field(
        default=0.6, ge=0, le=1, description="How much errors count in sampling: 0 = not at all, 1 = in proportion."
    )
    beta: UnitSchedule = Field(
        default=Schedule(0.4, 1.0),
        description="How much the loss is weighted against the preference in sampling: 0 = not at all, 1 = in full.",
    )
