"""What a run is asked for, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is made, beside its experiment.

    Attributes:
        results: Folder that the run directory is made in.
        run_id: Name of the run; None = from trainer, environment and time.
        resume: Continue the run `run_id` from its last checkpoint.
        force: Replace the run `run_id` if there is one.
        init_from: Run directory or run id whose weights to start from.
        inference: Only act.
        drop_replay: Resume with empty buffers, whatever was saved.
        quiet: Print nothing.
    """

    results: Path = Path("results")
    run_id: str | None = None
    resume: bool = False
    force: bool = False
    init_from: str | None = None
    inference: bool = False
    drop_replay: bool = False
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    Attributes:
        directory: The run directory.
        status: `finished` or `interrupted`.
        behaviors: As in summary.json: steps, episodes, mean_return, steps_per_second of each.
        evaluations: Mean return of each behavior's best evaluation.
        note: What to say instead, where there was nothing to do.
    """

    directory: Path
    status: str
    behaviors: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    evaluations: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
