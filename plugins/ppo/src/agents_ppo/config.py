"""Options of PPO."""

from __future__ import annotations

from collections.abc import Iterator

from agents_core.learning.cloning_config import CloningConfig
from agents_core.options import BehaviorOptions, Conflict, NonNegativeSchedule, PositiveSchedule, TrainerConfig
from agents_core.schedules import Schedule
from pydantic import Field, model_validator


class PPOConfig(TrainerConfig):
    """Proximal Policy Optimization."""

    batch_size: int = Field(
        default=256,
        ge=1,
        description="Rows of a minibatch, about: each pass splits all rows evenly, with memory in whole sequences.",
    )
    buffer_size: int = Field(default=2048, ge=1, description="Rows that are collected for each update.")
    num_epoch: int = Field(default=4, ge=1, le=1000, description="Passes over the rows in each update.")
    learning_rate: PositiveSchedule = Field(default=Schedule(3e-4), description="Step size of Adam.")
    beta: NonNegativeSchedule = Field(default=Schedule(0.005), description="Weight of the entropy bonus.")
    epsilon: PositiveSchedule = Field(default=Schedule(0.2), description="Clip range of the probability ratio.")
    lambd: float = Field(default=0.95, ge=0, le=1, description="λ of generalised advantage estimation.")
    vf_coef: float = Field(default=0.5, ge=0, description="Weight of the value loss.")
    value_clip_range: float | None = Field(
        default=None, gt=0, description="How far a value may move from the old one in an update; null = any distance."
    )
    max_grad_norm: float | None = Field(
        default=0.5, gt=0, description="Gradients with a larger norm are scaled down to it; null = never."
    )
    target_kl: float | None = Field(
        default=None,
        gt=0,
        description="The policy's steps of an update end where the approximate KL divergence exceeds it; null = never.",
    )
    initial_std: float = Field(
        default=0.5,
        gt=0,
        le=10,
        description="Standard deviation of continuous actions at the start; the range of a bounded action is 2 wide.",
    )
    normalize_advantage: bool = Field(
        default=True, description="Give the advantages of each rollout mean 0 and standard deviation 1."
    )

    behavioral_cloning: CloningConfig | None = Field(
        default=None, description="Bring the policy nearer to demonstrations after each update; null = do not."
    )

    @model_validator(mode="after")
    def _batch_fits_buffer(self) -> PPOConfig:
        if self.batch_size > self.buffer_size:
            raise ValueError(f"batch_size ({self.batch_size}) must not be larger than buffer_size ({self.buffer_size})")
        return self

    def conflicts(self, others: BehaviorOptions) -> Iterator[Conflict]:
        if others.network.memory is not None:
            yield from others.network.memory.misfits(self.batch_size)
