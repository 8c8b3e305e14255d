"""The hooks that plugins may implement."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pluggy

from agents_core.plugin import (
    PROJECT,
    BufferSpec,
    CommandSpec,
    DemonstrationFormatSpec,
    EncoderSpec,
    EnvironmentSpec,
    ExporterSpec,
    RewardSignalSpec,
    StatsWriterSpec,
    TrainerSpec,
    WorkerPoolSpec,
)

hookspec = pluggy.HookspecMarker(PROJECT)


@hookspec
def agents_trainers() -> list[TrainerSpec]:  # type: ignore[empty-body]
    """Trainers that the plugin offers. Called once while plugins are loaded. Since 0.1."""


@hookspec
def agents_reward_signals() -> list[RewardSignalSpec]:  # type: ignore[empty-body]
    """Reward signals that the plugin offers. Called once while plugins are loaded. Since 0.1."""


@hookspec
def agents_buffers() -> list[BufferSpec]:  # type: ignore[empty-body]
    """Buffers that the plugin offers. Called once while plugins are loaded. Since 0.1."""


@hookspec
def agents_stats_writers() -> list[StatsWriterSpec]:  # type: ignore[empty-body]
    """Stats writers that the plugin offers. Called once while plugins are loaded. Since 0.1."""


@hookspec
def agents_environments() -> list[EnvironmentSpec]:  # type: ignore[empty-body]
    """Environment adapters that the plugin offers. Called once while plugins are loaded. Since 0.1."""


@hookspec
def agents_worker_pools() -> list[WorkerPoolSpec]:  # type: ignore[empty-body]
    """Worker pools that the plugin offers. Called once while plugins are loaded. Since 0.1."""


@hookspec
def agents_encoders() -> list[EncoderSpec]:  # type: ignore[empty-body]
    """Observation encoders that the plugin offers. Called once while plugins are loaded. Since 0.1."""


@hookspec
def agents_demonstration_formats() -> list[DemonstrationFormatSpec]:  # type: ignore[empty-body]
    """Demonstration file formats that the plugin offers. Called once while plugins are loaded. Since 0.1."""


@hookspec
def agents_exporters() -> list[ExporterSpec]:  # type: ignore[empty-body]
    """Exporters that the plugin offers. Called once while plugins are loaded. Since 0.1."""


@hookspec
def agents_commands() -> list[CommandSpec]:  # type: ignore[empty-body]
    """Commands that the plugin adds to `agents`. Called once while plugins are loaded. Since 0.1."""


@hookspec
def agents_run_started(run_directory: Path, config: Mapping[str, object]) -> None:
    """A run is about to take its first step; `config` is the resolved experiment. Since 0.1."""


@hookspec
def agents_update_finished(behavior: str, step: int, stats: Mapping[str, float]) -> None:
    """A trainer finished an update. Since 0.1."""


@hookspec
def agents_checkpoint_saved(behavior: str, step: int, path: Path) -> None:
    """A checkpoint is complete on disk at `path`. Since 0.1."""


@hookspec
def agents_evaluation_finished(behavior: str, step: int, stats: Mapping[str, float]) -> None:
    """An evaluation during training is done; `stats` holds `eval/…`. Since 0.1."""


@hookspec
def agents_run_finished(run_directory: Path, status: str) -> None:
    """A run ended: `finished`, `interrupted` or `failed`. Since 0.1."""
