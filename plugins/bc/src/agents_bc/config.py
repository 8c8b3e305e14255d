"""Options of behavioral cloning."""

from __future__ import annotations

from typing import Literal

from agents_core.options import ConfigModel, DemonstrationPath, PositiveSchedule
from agents_core.schedules import Schedule
from pydantic import Field


class BCConfig(ConfigModel):
    """Behavioral cloning."""

    demo_path: DemonstrationPath | list[DemonstrationPath] = Field(
        description="Demonstrations: a file, a folder, `format:name`, or a list of these."
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
    initial_std: float = Field(
        default=0.5, gt=0, le=10, description="Standard deviation of continuous actions at the start."
    )
