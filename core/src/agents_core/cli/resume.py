"""`agents resume`: go on with a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from agents_core.cli.options import plugin_options
from agents_core.cli.training_options import training_options

if TYPE_CHECKING:
    from agents_core.registry import Registry


@click.command()
@click.argument("run")
@click.option(
    "--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True, help="Folder of runs."
)
@click.option("--drop-replay", is_flag=True, help="Start with an empty replay buffer, whatever was saved of it.")
@training_options
@plugin_options
def resume(
    registry: Registry,
    run: str,
    results: Path,
    drop_replay: bool,
    max_steps: int | None,
    overrides: tuple[str, ...],
    quiet: bool,
) -> None:
    """Continue RUN, a run directory or a run id, from its last checkpoint.

    A finished run goes on only with a larger --max-steps, over which its schedules then stretch.
    """
    from agents_core.cli.report import report_run
    from agents_core.training.run import resume_run

    result = resume_run(
        run, results, registry, max_steps=max_steps, overrides=overrides, drop_replay=drop_replay, quiet=quiet
    )
    report_run(result, quiet=quiet)
