"""The stats-writer contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

ConfigT = TypeVar("ConfigT")


@dataclass(frozen=True, slots=True)
class StatsWriterContext(Generic[ConfigT]):
    """What a stats-writer factory is called with.

    Attributes:
        config: The writer's own config model, validated.
        run_directory: `results/<run-id>`.
        max_steps: By behavior name; `"*"` stands for behaviors not named.
        resumed_at: Step of the checkpoint each behavior resumes from; empty for a new run. What an earlier process
            wrote after that step is to be dropped.
        quiet: Whether the user asked for no output.
    """

    config: ConfigT
    run_directory: Path
    max_steps: Mapping[str, int]
    resumed_at: Mapping[str, int]
    quiet: bool


class StatsWriter(ABC):
    """Takes numbers of a run somewhere; opened when it is made."""

    @abstractmethod
    def write(self, behavior: str, step: int, wall_time: float, stats: Mapping[str, float]) -> None:
        """Take one summary of a behavior.

        Args:
            behavior: Name of the behavior.
            step: Decisions taken so far.
            wall_time: Seconds of training so far, earlier processes of the run included.
            stats: By full name, such as `rollout/mean_return`; finite numbers.
        """

    def text(self, title: str, content: str) -> None:  # noqa: B027
        """Take a text, such as the resolved experiment under `hyperparameters`."""

    def progress(self, behavior: str, step: int, stats: Mapping[str, float]) -> None:  # noqa: B027
        """Show where the run is; called a few times a second, so that it must be cheap.

        `stats` holds `time/steps_per_second` and, once an episode ended, `rollout/mean_return`.
        """

    @abstractmethod
    def close(self) -> None:
        """Flush and free everything; calling it twice is allowed."""
