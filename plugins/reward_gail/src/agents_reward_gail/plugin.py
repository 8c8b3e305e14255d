"""What this distribution offers."""

from agents_core.plugin import RewardSignalSpec, hookimpl


@hookimpl
def agents_reward_signals() -> list[RewardSignalSpec]:
    return [
        RewardSignalSpec(
            name="gail",
            summary="Generative Adversarial Imitation Learning (Ho & Ermon 2016)",
            config="agents_reward_gail.config:GAILConfig",
            factory="agents_reward_gail.signal:GAILReward",
            tags=("imitation", "continuous", "discrete", "hybrid"),
        )
    ]
