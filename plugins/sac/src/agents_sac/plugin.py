"""What this distribution offers."""

from agents_core.plugin import TrainerSpec, hookimpl


@hookimpl
def agents_trainers() -> list[TrainerSpec]:
    return [
        TrainerSpec(
            name="sac",
            summary="Soft Actor-Critic (Haarnoja et al. 2018)",
            config="agents_sac.config:SACConfig",
            factory="agents_sac.trainer:SACTrainer",
            tags=("off-policy", "continuous", "discrete", "hybrid"),
            quickstart="agents_sac:quickstart.yaml",
            buffer="replay",
        )
    ]
