"""Core's own components, registered through the same hooks as everybody else's."""

from __future__ import annotations

from agents_core.plugin import RewardSignalSpec, StatsWriterSpec, WorkerPoolSpec, hookimpl


@hookimpl
def agents_reward_signals() -> list[RewardSignalSpec]:
    return [
        RewardSignalSpec(
            name="extrinsic",
            summary="The environment's own reward",
            config="agents_core.learning.extrinsic_config:ExtrinsicConfig",
            factory="agents_core.learning.extrinsic:ExtrinsicReward",
        )
    ]


@hookimpl
def agents_worker_pools() -> list[WorkerPoolSpec]:
    return [
        WorkerPoolSpec(
            name="inline",
            summary="All environments in the training process",
            config="agents_core.environments.config:InlineConfig",
            factory="agents_core.environments.inline:InlinePool",
        ),
        WorkerPoolSpec(
            name="process",
            summary="Environments in worker processes that share memory with the trainer",
            config="agents_core.environments.config:ProcessConfig",
            factory="agents_core.environments.process:ProcessPool",
        ),
    ]


@hookimpl
def agents_stats_writers() -> list[StatsWriterSpec]:
    return [
        StatsWriterSpec(
            name="console",
            summary="Progress bar on a terminal, plain lines elsewhere",
            config="agents_core.training.stats_config:ConsoleConfig",
            factory="agents_core.training.console:ConsoleWriter",
            default=True,
        ),
        StatsWriterSpec(
            name="jsonl",
            summary="metrics.jsonl in the run directory; always on",
            config="agents_core.training.stats_config:JsonlConfig",
            factory="agents_core.training.jsonl:JsonlWriter",
            default=True,
        ),
    ]
