"""Options of behavioral cloning beside reinforcement learning."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agents_core.options import ConfigModel, DemonstrationPath


class CloningConfig(ConfigModel):
    """`behavioral_cloning:`: after each of its updates, a trainer brings its policy nearer to demonstrations too."""

    demo_path: DemonstrationPath | list[DemonstrationPath] = Field(
        description="Demonstrations: a file, a folder, `format:name`, or a list of these."
    )
    strength: float = Field(default=1.0, gt=0, description="Step size of the cloning, as a part of `learning_rate`.")
    steps: int = Field(
        default=0, ge=0, description="Steps of the run over which the strength falls to 0; 0 = it does not."
    )
    samples_per_update: int = Field(
        default=0, ge=0, description="Demonstrated transitions of each pass; 0 = all of them."
    )
    num_epoch: int = Field(default=3, ge=1, le=1000, description="Passes after each update.")
    batch_size: int | None = Field(
        default=None, ge=1, description="Transitions of a minibatch; null = as many as the trainer's own."
    )
    loss: Literal["mse", "nll"] = Field(
        default="mse",
        description="Loss of continuous actions: `mse`, squared error of the most likely action, which leaves the "
        "deviation alone; `nll`, negative log-likelihood. Discrete actions have the latter.",
    )
