"""What this distribution offers."""

from agents_core.plugin import TrainerSpec, hookimpl


@hookimpl
def agents_trainers() -> list[TrainerSpec]:
    return [
        TrainerSpec(
            name="reinforce",
            summary="The simplest policy gradient (Williams 1992)",
            config="agents_reinforce.config:ReinforceConfig",
            factory="agents_reinforce.trainer:ReinforceTrainer",
            tags=("on-policy", "continuous", "discrete", "hybrid"),
        )
    ]
