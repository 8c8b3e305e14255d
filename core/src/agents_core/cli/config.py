"""`agents config`: check, show and write experiment files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agents_core.cli.options import plugin_options, report_bad_plugins

if TYPE_CHECKING:
    from agents_core.config import Experiment, Mistake
    from agents_core.config.loading import Resolved
    from agents_core.registry import Registry

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


@click.group()
def config() -> None:
    """Check, show and write experiment files."""


def experiment_options(command: CommandT) -> CommandT:
    """Add `[FILE]`, `--plugin`, `--env` and `--set`, as `agents run` has them."""
    for add in (
        click.option(
            "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a value, as a.b.c=VALUE; repeatable."
        ),
        click.option("--env", "environment", metavar="TYPE[:ID]", help="Environment, such as gymnasium:CartPole-v1."),
        click.option("--plugin", "plugins", multiple=True, metavar="NAME", help="Use this trainer or reward signal."),
        click.argument("file", required=False, type=click.Path(path_type=Path)),
    ):
        command = add(command)
    return command


@config.command()
@experiment_options
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@plugin_options
def validate(
    registry: Registry,
    file: Path | None,
    plugins: tuple[str, ...],
    environment: str | None,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check an experiment file: every mistake at once, each with its line and column.

    Warns of data files that are not there; `agents run` refuses to start without them.
    """
    from agents_core.config import ConfigError, load_experiment

    try:
        experiment = load_experiment(file, registry, plugins=plugins, environment=environment, overrides=overrides)
    except ConfigError as error:
        if as_json:
            click.echo(_document({"valid": False, "mistakes": _list(error.mistakes), "warnings": []}))
        raise
    for missing in experiment.missing_files:
        click.echo(f"Warning: {missing}", err=True)
    if as_json:
        click.echo(_document({"valid": True, "mistakes": [], "warnings": _list(experiment.missing_files)}))
    else:
        click.echo(f"{file or 'The experiment'} is valid: {_summary(experiment)}")


def _list(mistakes: Iterable[Mistake]) -> list[dict[str, Any]]:
    return [
        {
            "source": mistake.position.source,
            "line": mistake.position.line,
            "column": mistake.position.column,
            "key": list(mistake.path),
            "message": mistake.message,
        }
        for mistake in mistakes
    ]


def _summary(experiment: Experiment) -> str:
    parts = [] if experiment.environment is None else [f"environment {experiment.environment.type}"]
    for name, behavior in experiment.behaviors.items():
        signals = ", ".join(behavior.reward_signals)
        parts.append(f"behavior {name} with trainer {behavior.trainer.type} and reward {signals}")
    return "; ".join(parts)


@config.command()
@experiment_options
@click.option("--resolved", is_flag=True, help="Fill in every default.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, with values and their origins.")
@plugin_options
def show(
    registry: Registry,
    file: Path | None,
    plugins: tuple[str, ...],
    environment: str | None,
    overrides: tuple[str, ...],
    resolved: bool,
    as_json: bool,
) -> None:
    """Show an experiment after merging and overrides, and where each value comes from."""
    from agents_core.config.loading import resolve

    loaded = resolve(file, registry, plugins=plugins, environment=environment, overrides=overrides)
    values = _shown(loaded, with_defaults=resolved)
    if as_json:
        from agents_core.config.origins import origins

        click.echo(_document({"experiment": values, "origins": origins(loaded, values)}))
        return
    from agents_core.config.origins import origin
    from agents_core.config.writer import to_yaml

    def comment(path: tuple[str, ...], value: object) -> str:
        return "" if isinstance(value, dict) and value else origin(loaded, path)

    click.echo(to_yaml(values, comment), nl=False)


def _shown(loaded: Resolved, *, with_defaults: bool) -> dict[str, Any]:
    if with_defaults:
        return loaded.experiment.to_dict()
    from agents_core.config.origins import written_values

    return written_values(loaded)


@config.command()
@plugin_options
def schema(registry: Registry) -> None:
    """Print the JSON Schema of experiment files, over all installed plugins.

    \b
    agents config schema > agents.schema.json
    """
    from agents_core.config.editor_schema import export

    report_bad_plugins(registry.records)
    problems: list[str] = []
    exported = export(registry.components(), problems)
    for problem in problems:
        click.echo(f"Warning: {problem}", err=True)
    click.echo(_document(exported))


@config.command()
@click.argument("trainer", required=False)
@plugin_options
def init(registry: Registry, trainer: str | None) -> None:
    """Print an experiment for TRAINER with every option, what it means and what it may be.

    \b
    agents config init ppo > experiment.yaml
    """
    from agents_core.config.template import write_template

    click.echo(write_template(trainer, registry), nl=False)


def _document(content: object) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False)
