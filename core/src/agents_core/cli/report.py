"""What `run` and `resume` say at their end."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agents_core.cli.main import INTERRUPTED

if TYPE_CHECKING:
    from agents_core.training.run_options import RunResult


def report_run(result: RunResult, *, quiet: bool) -> None:
    """Say how the run ended, where its files are and what to do next; exit with 130 if it was interrupted."""
    if not quiet:
        for line in _lines(result):
            click.echo(line)
    if result.status == "interrupted":
        sys.exit(INTERRUPTED)


def _lines(result: RunResult) -> list[str]:
    from agents_core.training.checkpoint import CheckpointStore
    from agents_core.training.run_directory import RunDirectory

    if result.note:
        return [result.note]
    lines = [f"{result.status}: {result.directory}"]
    for name, behavior in result.behaviors.items():
        parts = [f"  {name}: {behavior['steps']} steps, {behavior['episodes']} episodes"]
        if behavior["mean_return"] is not None:
            parts.append(f"mean return {behavior['mean_return']:.2f} (last 100 episodes)")
        if name in result.evaluations:
            parts.append(f"best evaluation {result.evaluations[name]:.2f}")
        if behavior["steps_per_second"] is not None:
            parts.append(f"{behavior['steps_per_second']:.0f} steps/s")
        lines.append(", ".join(parts))
    run = shlex.quote(str(result.directory))
    if result.status == "interrupted":
        lines.append(f"Continue with:  {_program('agents')} resume {run}")
        return lines
    lines.append("Next:")
    if CheckpointStore(RunDirectory(result.directory).checkpoints_path).behaviors():  # A run that only acts has none.
        steps = max((int(behavior["steps"] or 0) for behavior in result.behaviors.values()), default=1)
        lines += [
            f"  {_program('agents')} evaluate {run}",
            f"  {_program('agents')} resume {run} --max-steps {2 * steps}",
        ]
    lines += [
        f"  {_program('tensorboard')} --logdir {run}/tensorboard"
        if (result.directory / "tensorboard").is_dir()
        else f"  {_program('agents')} config show {run}/config.yaml",
    ]
    return lines


def _program(name: str) -> str:
    """How to call a program that is installed beside this one: by its path where the shell would not find it."""
    beside = Path(sys.argv[0]).with_name(name)
    return name if shutil.which(name) is not None or not beside.exists() else str(beside)
