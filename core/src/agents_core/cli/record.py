"""`agents record`: demonstrations of a trained policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from agents_core.cli.options import plugin_options

if TYPE_CHECKING:
    from agents_core.registry import Registry


@click.command()
@click.argument("run")
@click.option(
    "-o", "--output", "target", required=True, metavar="FILE", help="An .h5 or .demo file, or minari:NAME-v0."
)
@click.option("--episodes", type=click.IntRange(min=1), default=20, show_default=True, help="Episodes to record.")
@click.option("--behavior", default=None, metavar="NAME", help="Whose episodes, where there are several behaviors.")
@click.option("--stochastic", is_flag=True, help="Sample actions instead of taking the most likely ones.")
@click.option("--checkpoint", default=None, metavar="best|last|STEP", help="Default: best if there is one, else last.")
@click.option("--append", is_flag=True, help="Add to FILE if it is there.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.option(
    "--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True, help="Folder of runs."
)
@plugin_options
def record(
    registry: Registry,
    run: str,
    target: str,
    episodes: int,
    behavior: str | None,
    stochastic: bool,
    checkpoint: str | None,
    append: bool,
    force: bool,
    results: Path,
) -> None:
    """Let the policy of RUN, a run directory or a run id, act from fixed starts, and write its episodes to a file.

    They are the episodes that `agents evaluate` measures.
    """
    from agents_core.cli.demo import describe_written
    from agents_core.demonstrations import check_target, store_demonstration
    from agents_core.training.policies import record_run

    check_target(target, registry=registry, force=force, append=append)
    which = int(checkpoint) if checkpoint is not None and checkpoint.isdecimal() else checkpoint
    demonstration, mean_return = record_run(
        run,
        results,
        registry,
        episodes=episodes,
        behavior=behavior,
        deterministic=not stochastic,
        checkpoint=which,
    )
    store_demonstration(target, demonstration, registry=registry, force=force, append=append)
    click.echo(f"{describe_written(target, demonstration)}, mean return {mean_return:.2f}")
