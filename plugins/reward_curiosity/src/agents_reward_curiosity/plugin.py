"""What this distribution offers."""

from agents_core.plugin import RewardSignalSpec, hookimpl


@hookimpl
def agents_reward_signals() -> list[RewardSignalSpec]:
    return [
        RewardSignalSpec(
            name="curiosity",
            summary="Intrinsic Curiosity Module (Pathak et al. 2017)",
            config="agents_reward_curiosity.config:CuriosityConfig",
            factory="agents_reward_curiosity.signal:CuriosityReward",
            tags=("exploration", "continuous", "discrete", "hybrid"),
        )
    ]
