"""What this distribution offers."""

from agents_core.plugin import RewardSignalSpec, hookimpl


@hookimpl
def agents_reward_signals() -> list[RewardSignalSpec]:
    return [
        RewardSignalSpec(
            name="novelty",
            summary="Pays for what was seldom seen, by counting (Bellemare et al. 2016)",
            config="agents_reward_novelty.config:NoveltyConfig",
            factory="agents_reward_novelty.signal:NoveltyReward",
        )
    ]
