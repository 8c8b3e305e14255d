"""`agents evaluate`: measure a trained policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agents_core.cli.options import plugin_options

if TYPE_CHECKING:
    from agents_core.registry import Registry


@click.command()
@click.argument("run")
@click.option(
    "--episodes", type=click.IntRange(min=1), default=20, show_default=True, help="Episodes of each behavior."
)
@click.option("--stochastic", is_flag=True, help="Sample actions instead of taking the most likely ones.")
@click.option("--checkpoint", default=None, metavar="best|last|STEP", help="Default: best if there is one, else last.")
@click.option(
    "--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True, help="Folder of runs."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@plugin_options
def evaluate(
    registry: Registry,
    run: str,
    episodes: int,
    stochastic: bool,
    checkpoint: str | None,
    results: Path,
    as_json: bool,
) -> None:
    """Measure the policies of RUN, a run directory or a run id, over whole episodes from fixed starts."""
    from agents_core.training.policies import evaluate_run

    which = int(checkpoint) if checkpoint is not None and checkpoint.isdecimal() else checkpoint
    loaded, evaluated = evaluate_run(
        run, results, registry, episodes=episodes, deterministic=not stochastic, checkpoint=which
    )
    if as_json:
        behaviors = {
            name: {
                "episodes": result.episodes,
                "mean_return": result.mean_return,
                "std_return": result.std_return,
                "mean_length": result.mean_length,
            }
            for name, result in evaluated.items()
        }
        click.echo(json.dumps({"behaviors": behaviors}))
        return
    for name, result in evaluated.items():
        click.echo(
            f"{name}: mean return {result.mean_return:.2f} ± {result.std_return:.2f} over {result.episodes} episodes, "
            f"mean length {result.mean_length:.1f} (checkpoint of step {loaded.steps[name]})"
        )
