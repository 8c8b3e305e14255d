"""Core's own part of an experiment file; components bring the models of their sections themselves."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import Field, field_validator

from agents_core.options import ConfigModel, NetworkConfig

_DEVICE = re.compile(r"auto|cpu|mps|cuda(:[0-9]+)?")


class CheckpointConfig(ConfigModel):
    """The `checkpoints:` section."""

    interval: int = Field(default=50_000, ge=1, description="Steps between two checkpoints.")
    keep: int = Field(default=5, ge=1, description="Checkpoints that are kept, `best` and `last` apart.")
    exact: bool = Field(
        default=False,
        description="Cut open trajectories and reset environments at each checkpoint, so that a resumed run ends "
        "with the same weights bit for bit as one that was not stopped.",
    )


class EvaluationConfig(ConfigModel):
    """The `evaluation:` section."""

    interval: int | None = Field(
        default=None, ge=0, description="Steps between two evaluations; null = ten evaluations a run, 0 = none."
    )
    episodes: int = Field(default=10, ge=1, description="Episodes of each evaluation.")


class TorchConfig(ConfigModel):
    """The `torch:` section."""

    threads: int | None = Field(
        default=None,
        ge=1,
        le=1024,
        description="Threads of torch; null = as many as pay off for the size of the networks.",
    )
    device: str = Field(default="auto", description="Where networks are trained: auto, cpu, cuda, cuda:N or mps.")

    @field_validator("device")
    @classmethod
    def _known_device(cls, device: str) -> str:
        if _DEVICE.fullmatch(device) is None:
            raise ValueError("expected auto, cpu, cuda, cuda:N or mps")
        return device


class GeneralConfig(ConfigModel):
    """Keys of the whole experiment, beside the sections that components fill."""

    seed: int = Field(default=1, ge=0, le=2**63 - 1, description="Source of all randomness of the run.")
    directory: Path | None = Field(
        default=None, description="Folder that relative paths start from; by default that of this file."
    )
    plugins: tuple[str, ...] = Field(
        default=(), description="Local plugins: Python files, relative to this one, or names of modules."
    )
    requires: tuple[str, ...] = Field(
        default=(),
        description="Distributions that must be installed, such as agents-ppo>=0.1; checked before anything else.",
    )
    checkpoints: CheckpointConfig = Field(default=CheckpointConfig(), description="When the run is saved.")
    evaluation: EvaluationConfig = Field(default=EvaluationConfig(), description="When the policy is measured.")
    torch: TorchConfig = Field(default=TorchConfig(), description="How torch computes.")


class InstancesConfig(ConfigModel):
    """Keys of `environment:` that every environment has."""

    num_envs: int = Field(default=1, ge=1, le=65_536, description="Environments that run side by side.")


class ScopeConfig(ConfigModel):
    """Keys of a behavior, beside its trainer and its reward signals."""

    max_steps: int = Field(default=500_000, ge=1, description="Steps (decisions of all agents together) to train for.")
    time_horizon: int = Field(
        default=64, ge=1, description="Longest trajectory; where it is cut, its value is estimated."
    )
    summary_freq: int = Field(default=10_000, ge=1, description="Steps between two summaries of statistics.")
    network: NetworkConfig = Field(default=NetworkConfig(), description="Policy and value networks.")
