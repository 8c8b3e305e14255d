"""Components of an installed plugin, made for experiments that use every kind of option."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from agents_core.registry import Registry, load_registry
from agents_core.testing.installed import install_plugin

HOOKS = """
    @hookimpl
    def agents_trainers():
        return [
            TrainerSpec(name="learner", summary="Learns", config="agents_fake.config:LearnerConfig",
                        factory="agents_fake.parts:make", quickstart="agents_fake:quickstart.yaml"),
            TrainerSpec(name="other", summary="Learns otherwise", config="agents_fake.config:OtherConfig",
                        factory="agents_fake.parts:make"),
            TrainerSpec(name="sampler", summary="Learns from a buffer", config="agents_fake.config:SamplerConfig",
                        factory="agents_fake.parts:make", buffer="ring"),
            TrainerSpec(name="clone", summary="Learns offline", config="agents_fake.config:CloneConfig",
                        factory="agents_fake.parts:make", offline=True),
        ]

    @hookimpl
    def agents_buffers():
        return [
            BufferSpec(name="ring", summary="Forgets the oldest", config="agents_fake.config:RingConfig",
                       factory="agents_fake.parts:make"),
            BufferSpec(name="heap", summary="Forgets nothing", config="agents_fake.config:HeapConfig",
                       factory="agents_fake.parts:make"),
        ]

    @hookimpl
    def agents_reward_signals():
        return [
            RewardSignalSpec(name="novelty", summary="Rewards the new", config="agents_fake.config:NoveltyConfig",
                             factory="agents_fake.parts:make"),
            RewardSignalSpec(name="imitation", summary="Rewards the same", config="agents_fake.config:ImitationConfig",
                             factory="agents_fake.parts:make"),
        ]

    @hookimpl
    def agents_environments():
        return [
            EnvironmentSpec(name="world", summary="A world", config="agents_fake.config:WorldConfig",
                            factory="agents_fake.parts:make", id_field="id"),
            EnvironmentSpec(name="grid", summary="A grid", config="agents_fake.config:GridConfig",
                            factory="agents_fake.parts:make"),
        ]

    @hookimpl
    def agents_stats_writers():
        return [StatsWriterSpec(name="board", summary="Curves", config="agents_fake.config:BoardConfig",
                                factory="agents_fake.parts:make", default=True)]
"""

CONFIG = """
    from typing import Any, Literal

    from agents_core.options import (
        ConfigModel, DataPath, NonNegativeSchedule, PositiveSchedule, RewardSignalConfig, UnitSchedule)
    from agents_core.schedules import Schedule
    from pydantic import Field, model_validator

    class Memory(ConfigModel):
        size: int = Field(default=64, ge=2, multiple_of=2, description="Numbers in the memory.")

    class LearnerConfig(ConfigModel):
        batch_size: int = Field(default=32, ge=1, description="Rows of a minibatch.")
        buffer_size: int = Field(default=128, ge=1, description="Rows of an update.")
        learning_rate: PositiveSchedule = Field(default=Schedule(3e-4), description="Step size.")
        beta: NonNegativeSchedule = Field(default=Schedule(0.01), description="Entropy bonus.")
        epsilon: UnitSchedule = Field(default=Schedule(0.2), description="Clip range.")
        target_kl: float | None = Field(default=0.02, gt=0, description="Limit.")
        clip: bool = Field(default=True, description="Whether to clip.")
        mode: Literal["fast", "slow"] = Field(default="fast", description="How.")
        layers: list[int] = Field(default=[64, 64], description="Widths.")
        limits: dict[str, float] = Field(default={}, description="Limits by name.")
        memory: Memory | None = Field(default=None, description="Memory.")

        @model_validator(mode="after")
        def _fits(self):
            if self.batch_size > self.buffer_size:
                raise ValueError(
                    f"batch_size ({self.batch_size}) must not be larger than buffer_size ({self.buffer_size})")
            return self

    class OtherConfig(ConfigModel):
        tau: float = Field(default=0.005, gt=0, le=1, description="Speed of the target.")

    class SamplerConfig(ConfigModel):
        tau: float = Field(default=0.005, gt=0, le=1, description="Speed of the target.")

    class RingConfig(ConfigModel):
        slots: int = Field(default=100, ge=1, description="Transitions that are kept.")

    class HeapConfig(ConfigModel):
        pass

    class CloneConfig(ConfigModel):
        demo_path: DataPath | list[DataPath] = Field(description="Demonstrations.")

    class NoveltyConfig(RewardSignalConfig):
        encoding_size: int = Field(default=128, ge=1, description="Width.")

    class ImitationConfig(RewardSignalConfig):
        demo_path: DataPath | list[DataPath] = Field(description="Demonstrations.")

    class WorldConfig(ConfigModel):
        id: str = Field(min_length=1, description="Which world.")
        title: str = Field(default="", description="Any text.")
        level: int | str = Field(default=1, description="Number or name.")
        kwargs: dict[str, Any] = Field(default={}, description="Anything.")
        imports: tuple[str, ...] = Field(default=(), description="Modules.")

    class GridConfig(ConfigModel):
        width: int = Field(default=5, ge=1, description="Cells.")

    class BoardConfig(ConfigModel):
        pass
"""

QUICKSTART = """\
environment: {type: world, id: home, num_envs: 2}
behaviors:
  "*":
    max_steps: 1e5
    trainer: {type: learner, learning_rate: {initial: 1e-3}}
"""


@pytest.fixture(scope="session")
def fake_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the distribution agents-fake, which offers the components above, and a broken one."""
    folder = tmp_path_factory.mktemp("site")
    files = {"config.py": CONFIG, "parts.py": "def make(context): ...", "quickstart.yaml": QUICKSTART}
    install_plugin(folder, "agents-fake", HOOKS, version="0.3", files=files)
    install_plugin(folder, "agents-broken", "import no_such_module", plugin="broken", version="1.0")
    return folder


@pytest.fixture(scope="module", autouse=True)
def _only_fakes(fake_site: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(fake_site), *sys.path])
        patch.setenv("AGENTS_LOAD_PLUGINS", "fake,broken")
        patch.delenv("AGENTS_DISABLE_PLUGINS", raising=False)
        yield


@pytest.fixture
def registry() -> Registry:
    """Core's components and those of agents-fake; another one for each test, since local plugins are added to it."""
    return load_registry()
