"""The experiment as the rest of core uses it: validated, with every default filled in."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents_core.config.errors import ConfigError, Mistake
from agents_core.config.merging import EVERY, fill_gaps
from agents_core.config.models import CheckpointConfig, EvaluationConfig, TorchConfig
from agents_core.config.writer import to_yaml
from agents_core.errors import UserError
from agents_core.options import ConfigModel, NetworkConfig
from agents_core.registry import Component


@dataclass(frozen=True, slots=True)
class Section:
    """A component and its options.

    Attributes:
        type: As the experiment names it, plain or qualified.
        config: Validated by the component's own model.
    """

    type: str
    component: Component
    config: ConfigModel

    def options(self) -> dict[str, Any]:
        """The component's options as plain values."""
        return self.config.model_dump(mode="json", by_alias=True)


@dataclass(frozen=True, slots=True)
class EnvironmentSection(Section):
    """The environment, and how many of it run where."""

    num_envs: int
    workers: Section


@dataclass(frozen=True, slots=True)
class BehaviorSection:
    """How one behavior is trained.

    Attributes:
        max_steps: Steps to train for.
        time_horizon: Longest trajectory.
        summary_freq: Steps between two summaries.
        reward_signals: By name; at least one.
        encoders: `network.encoders`: chosen ones by observation name.
        buffer: `trainer.buffer`, of trainers that sample from one.
    """

    max_steps: int
    time_horizon: int
    summary_freq: int
    network: NetworkConfig
    trainer: Section
    reward_signals: Mapping[str, Section]
    encoders: Mapping[str, Section] = field(default_factory=dict)
    buffer: Section | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """A whole experiment.

    Attributes:
        environment: None for offline training.
        behaviors: By name; `"*"` stands for every behavior that is not named.
        stats: Stats writers by name.
        plugins: Local plugins; files by their absolute path.
        requires: Distributions that must be installed.
        directory: Where relative paths of the file start.
        missing_files: Data files that the experiment names and that are not there.
    """

    seed: int
    environment: EnvironmentSection | None
    behaviors: Mapping[str, BehaviorSection]
    stats: Mapping[str, Section]
    checkpoints: CheckpointConfig
    evaluation: EvaluationConfig
    torch: TorchConfig
    plugins: tuple[str, ...]
    requires: tuple[str, ...]
    directory: Path = field(compare=False)
    missing_files: tuple[Mistake, ...] = field(compare=False, default=())

    def behavior(self, name: str) -> BehaviorSection:
        """The section for a behavior that the environment has.

        Raises:
            UserError: Neither its name nor `"*"` is configured.
        """
        section = self.behaviors.get(name, self.behaviors.get(EVERY))
        if section is None:
            near = difflib.get_close_matches(name, self.behaviors, n=1)
            raise UserError(
                f"the environment has the behavior '{name}', but `behaviors` configures only "
                f"{', '.join(self.behaviors)}{f'; did you mean {near[0]!r}?' if near else ''}. "
                f"Add '{name}', or \"*\" for every behavior that is not named"
            )
        return section

    def require_files(self) -> None:
        """Refuse to go on without the data files.

        Raises:
            ConfigError: With each that is not there.
        """
        if self.missing_files:
            raise ConfigError(self.missing_files)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values; loading it gives an equal experiment."""
        written: dict[str, Any] = {"seed": self.seed}
        if self.plugins:
            written["plugins"] = list(self.plugins)
        if self.requires:
            written["requires"] = list(self.requires)
        if self.environment is not None:
            written["environment"] = _write_environment(self.environment)
        behaviors = {name: _write_behavior(section) for name, section in self.behaviors.items()}
        common = behaviors.get(EVERY, {})
        written["behaviors"] = {
            name: behavior if name == EVERY else fill_gaps(common, behavior) for name, behavior in behaviors.items()
        }
        written["stats"] = {name: _write_named(name, section) for name, section in self.stats.items()}
        for name in ("checkpoints", "evaluation", "torch"):
            written[name] = getattr(self, name).model_dump(mode="json")
        return written

    def to_yaml(self) -> str:
        """`to_dict` as the text of an experiment file that may lie in any folder."""
        return to_yaml({"directory": str(self.directory), **self.to_dict()})


def _write_environment(section: EnvironmentSection) -> dict[str, Any]:
    workers = _write_typed(section.workers)
    return {**_write_typed(section), "num_envs": section.num_envs, "workers": workers}


def _write_behavior(section: BehaviorSection) -> dict[str, Any]:
    network = section.network.model_dump(mode="json")
    if section.encoders:
        network["encoders"] = {name: _write_typed(encoder) for name, encoder in section.encoders.items()}
    trainer = _write_typed(section.trainer)
    if section.buffer is not None:
        trainer["buffer"] = _write_typed(section.buffer)
    return {
        "max_steps": section.max_steps,
        "time_horizon": section.time_horizon,
        "summary_freq": section.summary_freq,
        "network": network,
        "trainer": trainer,
        "reward_signals": {name: _write_named(name, signal) for name, signal in section.reward_signals.items()},
    }


def _write_typed(section: Section) -> dict[str, Any]:
    return {"type": section.type, **section.options()}


def _write_named(name: str, section: Section) -> dict[str, Any]:
    """A section that is named by its component unless it says another `type`."""
    kind = {} if section.type == name else {"type": section.type}
    return {**kind, **section.options()}
