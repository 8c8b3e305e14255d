"""What this distribution offers."""

from agents_core.plugin import RewardSignalSpec, hookimpl


@hookimpl
def agents_reward_signals() -> list[RewardSignalSpec]:
    return [
        RewardSignalSpec(
            name="rnd",
            summary="Random Network Distillation (Burda et al. 2018)",
            config="agents_reward_rnd.config:RNDConfig",
            factory="agents_reward_rnd.signal:RNDReward",
            tags=("exploration", "continuous", "discrete", "hybrid"),
        )
    ]
