"""What this distribution offers."""

from agents_core.plugin import TrainerSpec, hookimpl


@hookimpl
def agents_trainers() -> list[TrainerSpec]:
    return [
        TrainerSpec(
            name="bc",
            summary="Behavioral cloning: acts as demonstrations did, learned without reward",
            config="agents_bc.config:BCConfig",
            factory="agents_bc.making:make_trainer",
            tags=("imitation", "offline", "continuous", "discrete", "hybrid"),
            offline=True,
        )
    ]
