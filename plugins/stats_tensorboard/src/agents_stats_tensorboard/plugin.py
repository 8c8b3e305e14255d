"""The hooks of this plugin."""

from __future__ import annotations

from agents_core.plugin import StatsWriterSpec, hookimpl


@hookimpl
def agents_stats_writers() -> list[StatsWriterSpec]:
    return [
        StatsWriterSpec(
            name="tensorboard",
            summary="Curves and hyperparameters for TensorBoard",
            config="agents_stats_tensorboard.config:TensorBoardConfig",
            factory="agents_stats_tensorboard.writer:TensorBoardWriter",
            default=True,
        )
    ]
