"""`agents run`: train from an experiment file, or a plugin by its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from agents_core.cli.options import plugin_options
from agents_core.cli.training_options import training_options

if TYPE_CHECKING:
    from agents_core.registry import Registry


@click.command()
@click.argument("config", required=False, type=click.Path(path_type=Path))
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="NAME",
    help="Use this trainer or reward signal; without CONFIG and --env, its shipped experiment.",
)
@click.option("--env", "environment", metavar="TYPE[:ID]", help="Environment, such as gymnasium:CartPole-v1.")
@click.option("--seed", type=click.IntRange(min=0), help="Source of all randomness.")
@click.option("--num-envs", type=click.IntRange(min=1), help="Environments that step side by side.")
@click.option("--device", metavar="D", help="cpu, cuda, cuda:1, … or auto.")
@click.option("--run-id", metavar="ID", help="Name of the run; by default trainer, environment and time.")
@click.option(
    "--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True, help="Folder of runs."
)
@click.option("--resume", is_flag=True, help="Continue the run --run-id from its last checkpoint.")
@click.option("--force", is_flag=True, help="Replace the run --run-id if there is one.")
@click.option(
    "--init-from",
    metavar="RUN",
    help="Start at step 0 from the weights of this run (a directory, or an id in --results).",
)
@click.option("--inference", is_flag=True, help="Only act, with the weights of --init-from; nothing is learned.")
@training_options
@plugin_options
def run(
    registry: Registry,
    config: Path | None,
    plugins: tuple[str, ...],
    environment: str | None,
    seed: int | None,
    num_envs: int | None,
    device: str | None,
    run_id: str | None,
    results: Path,
    resume: bool,
    force: bool,
    init_from: str | None,
    inference: bool,
    max_steps: int | None,
    overrides: tuple[str, ...],
    quiet: bool,
) -> None:
    """Train: an experiment file, or a plugin by name.

    \b
    agents run --plugin ppo                  its shipped quickstart
    agents run experiment.yaml --seed 3
    agents run --plugin ppo --env gymnasium:Acrobot-v1
    """
    if resume and force:
        raise click.UsageError("--resume continues a run and --force replaces it; give one of them")
    if resume and run_id is None:
        raise click.UsageError("--resume needs --run-id; or use: agents resume RUN")
    if resume and init_from is not None:
        raise click.UsageError("--resume goes on with its own weights; --init-from is for new runs")
    if inference and (resume or init_from is None):
        raise click.UsageError("--inference needs --init-from RUN, whose weights act in a new run")
    from agents_core.cli.report import report_run
    from agents_core.config import load_experiment
    from agents_core.training.run import train
    from agents_core.training.run_options import RunOptions

    flags = {"seed": seed, "environment.num_envs": num_envs, "torch.device": device}
    given = [f"{key}={value}" for key, value in flags.items() if value is not None]
    if max_steps is not None:
        given.append(f"behaviors.*.max_steps={max_steps}")
    experiment = load_experiment(
        config, registry, plugins=plugins, environment=environment, overrides=[*given, *overrides]
    )
    options = RunOptions(
        results=results,
        run_id=run_id,
        resume=resume,
        force=force,
        init_from=init_from,
        inference=inference,
        quiet=quiet,
    )
    report_run(train(experiment, registry, options), quiet=quiet)
