"""Options of behavioral cloning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from agents_core.options import BehaviorOptions, Conflict, DemonstrationPath, PositiveSchedule, TrainerConfig
from agents_core.schedules import Schedule
from pydantic import Field, model_validator


class BCConfig(TrainerConfig):
    """Behavioral cloning."""

    demo_path: DemonstrationPath | list[DemonstrationPath] | None = Field(
        default=None, description="Demonstrations: a file, a folder, `format:name`, or a list of these."
    )
    teacher: str | None = Field(
        default=None,
        description="Instead of demonstrations: the behavior of the same environment that is imitated while it acts.",
    )
    loss: Literal["nll", "mse"] = Field(
        default="nll",
        description="Loss of continuous actions: `nll`, negative log-likelihood; `mse`, squared error of the most "
        "likely action, which leaves the deviation alone. Discrete actions have the former.",
    )
    batch_size: int = Field(default=256, ge=1, description="Transitions of a minibatch; with memory in sequences.")
    learning_rate: PositiveSchedule = Field(default=Schedule(1e-3), description="Step size of Adam.")
    max_grad_norm: float | None = Field(
        default=0.5, gt=0, description="Gradients with a larger norm are scaled down to it; null = never."
    )
    validation_split: float = Field(
        default=0.1, ge=0, lt=1, description="Share of the episodes that is held out to validate with; 0 = none."
    )
    patience: int | None = Field(
        default=20,
        ge=1,
        description="Validations without a better likelihood after which training ends, with the weights that had the "
        "best; null = it goes on to max_steps.",
    )
    num_epoch: int = Field(
        default=3, ge=1, le=1000, description="Passes over what the teacher did since the last update; `teacher` only."
    )
    initial_std: float = Field(
        default=0.5, gt=0, le=10, description="Standard deviation of continuous actions at the start."
    )

    @model_validator(mode="after")
    def _learns_from_one_source(self) -> BCConfig:
        if (self.demo_path is None) == (self.teacher is None):
            raise ValueError("expected either `demo_path` (demonstrations) or `teacher` (a behavior), and not both")
        return self

    def conflicts(self, others: BehaviorOptions) -> Iterator[Conflict]:
        for name in sorted(others.reward_signals.keys() - {"extrinsic"}):
            message = "it would have no effect, for the trainer learns without rewards; remove it, or choose another "
            yield Conflict(("reward_signals", name), f"{message}trainer with `behavioral_cloning`")
