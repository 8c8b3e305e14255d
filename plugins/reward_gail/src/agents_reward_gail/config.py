"""Options of generative adversarial imitation learning."""

from __future__ import annotations

from typing import Literal

from agents_core.options import BodyConfig, DemonstrationPath, RewardSignalConfig
from pydantic import Field, model_validator


class DiscriminatorConfig(BodyConfig):
    """The `network:` section of the signal."""

    normalize: bool = Field(
        default=True, description="Normalise vector observations by what the expert and the agents saw, half each."
    )


class GAILConfig(RewardSignalConfig):
    """Generative adversarial imitation learning: what a discriminator takes for the expert's is rewarded."""

    demo_path: DemonstrationPath | list[DemonstrationPath] = Field(
        description="Demonstrations: a file, a folder, `format:name`, or a list of these."
    )
    use_actions: bool = Field(default=False, description="Whether the discriminator sees actions beside observations.")
    reward: Literal["positive", "logit", "centered"] = Field(
        default="positive",
        description="`positive`: -log(1-D); `logit`: log D - log(1-D); `centered`: -log(1-D) minus its mean over what "
        "the agents did lately.",
    )
    absorbing: bool = Field(
        default=True,
        description="Reward what follows a termination as a state of its own, so that neither longer nor shorter "
        "episodes than the expert's pay; false = rewards end with the episode.",
    )
    use_vail: bool = Field(
        default=False, description="Let the discriminator see through a variational bottleneck, so that it tells less."
    )
    gradient_penalty: float = Field(default=10.0, ge=0, description="Weight of the penalty on its slope; 0 = none.")
    learning_rate: float = Field(default=3e-4, gt=0, le=1, description="Step size of the signal's own Adam.")
    network: DiscriminatorConfig = Field(
        default=DiscriminatorConfig(), description="The discriminator, apart from the policy's networks."
    )

    @model_validator(mode="after")
    def _absorbing_needs_a_discount(self) -> GAILConfig:
        if self.absorbing and self.gamma == 1:
            raise ValueError("gamma must be less than 1 with `absorbing`: what follows a termination goes on forever")
        return self
