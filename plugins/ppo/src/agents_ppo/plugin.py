"""What this distribution offers."""

from agents_core.plugin import TrainerSpec, hookimpl


@hookimpl
def agents_trainers() -> list[TrainerSpec]:
    return [
        TrainerSpec(
            name="ppo",
            summary="Proximal Policy Optimization (Schulman et al. 2017)",
            config="agents_ppo.config:PPOConfig",
            factory="agents_ppo.trainer:PPOTrainer",
            tags=("on-policy", "continuous", "discrete", "hybrid"),
            quickstart="agents_ppo:quickstart.yaml",
        )
    ]
