"""Options of SAC."""

from __future__ import annotations

from collections.abc import Iterator

from agents_core.learning.cloning_config import CloningConfig
from agents_core.options import BehaviorOptions, Conflict, PositiveSchedule, TrainerConfig
from agents_core.replay.config import ReplayConfig
from agents_core.schedules import Schedule
from pydantic import Field


class SACCloningConfig(CloningConfig):
    """As `CloningConfig`, for a trainer with many small updates."""

    samples_per_update: int = Field(
        default=1, ge=0, description="Demonstrated transitions of each pass, at least a minibatch; 0 = all of them."
    )
    num_epoch: int = Field(default=1, ge=1, le=1000, description="Passes after each update.")


class SACConfig(TrainerConfig):
    """Soft Actor-Critic."""

    batch_size: int = Field(
        default=256, ge=1, description="Transitions of a minibatch, about: with memory in whole sequences."
    )
    learning_rate: PositiveSchedule = Field(
        default=Schedule(3e-4), description="Step size of Adam, for the policy, the critics and the temperature."
    )
    tau: float = Field(
        default=0.005, gt=0, le=1, description="Part of the way that target networks go to the critics in an update."
    )
    steps_per_update: float = Field(
        default=1.0,
        ge=1e-3,
        description="Steps of all agents together for each update; below 1 = several updates a step.",
    )
    buffer_init_steps: int = Field(
        default=1000,
        ge=0,
        description="Steps at the start before anything is learned; with random actions, unless weights were loaded.",
    )
    init_entcoef: float = Field(default=1.0, gt=0, description="Temperature, the weight of the entropy, at the start.")
    target_entropy: float | None = Field(
        default=None,
        description="Entropy of continuous actions that their temperature steers to; null = -1 for each dimension.",
    )
    discrete_target_entropy: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Entropy of a discrete branch that its temperature steers to, as a part of the largest possible.",
    )
    n_step: int = Field(
        default=1,
        ge=1,
        le=100,
        description="Rewards that are summed before the target networks value what follows; 1 with memory.",
    )
    reward_signal_steps_per_update: float | None = Field(
        default=None,
        ge=1e-3,
        description="Steps for each update of the reward signals on a sample of their own; null = with every update, "
        "on its sample.",
    )
    max_grad_norm: float | None = Field(
        default=None, gt=0, description="Gradients with a larger norm are scaled down to it; null = never."
    )
    behavioral_cloning: SACCloningConfig | None = Field(
        default=None, description="Bring the policy nearer to demonstrations after each update; null = do not."
    )

    def conflicts(self, others: BehaviorOptions) -> Iterator[Conflict]:
        network, buffer = others.network, others.buffer
        if network.shared:
            message = "found true; actor and critics of SAC learn at different paces and share no body; expected false"
            yield Conflict(("network", "shared"), message)
        if network.memory is not None:
            yield from network.memory.misfits(self.batch_size)
            if self.n_step > 1:
                message = (
                    f"found {self.n_step}; with network.memory sequences are learned from step by step; expected 1"
                )
                yield Conflict(("trainer", "n_step"), message)
        if isinstance(buffer, ReplayConfig) and buffer.buffer_size < self.batch_size:
            yield Conflict(
                ("trainer", "buffer", "buffer_size"),
                f"found {buffer.buffer_size}, fewer than a minibatch has (trainer.batch_size {self.batch_size}); "
                f"expected {self.batch_size} or more",
            )
