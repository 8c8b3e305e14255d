"""`agents demo`: look at demonstrations, and bring them into another format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from agents_core.cli.options import plugin_options

if TYPE_CHECKING:
    from agents_core.contracts.demonstration import Demonstration
    from agents_core.registry import Registry

format_option = click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the format that is read, such as pairing=ml-agents (repeatable).",
)


@click.group()
def demo() -> None:
    """Look at demonstrations and convert them.

    A demonstration is a file, a folder of files, or FORMAT:NAME, such as minari:D4RL/door/human-v2.
    """


@demo.command()
@click.argument("source")
@format_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@plugin_options
def info(registry: Registry, source: str, options: Sequence[str], as_json: bool) -> None:
    """Say what SOURCE holds: who saw and did what, how often, for which reward."""
    demonstration = _read(source, registry, options)
    document = _document(demonstration)
    if as_json:
        click.echo(json.dumps(document))
        return
    for warning in demonstration.warnings:
        click.echo(f"Warning: {warning}", err=True)
    _print(demonstration, document)


@demo.command()
@click.argument("source")
@click.argument("target")
@format_option
@click.option("--append", is_flag=True, help="Add to TARGET what SOURCE holds.")
@click.option("--force", is_flag=True, help="Replace TARGET.")
@plugin_options
def convert(registry: Registry, source: str, target: str, options: Sequence[str], append: bool, force: bool) -> None:
    """Write what SOURCE holds to TARGET, whose suffix (.h5, .demo) or prefix (minari:) says in which format."""
    from agents_core.demonstrations import check_target, store_demonstration

    check_target(target, registry=registry, force=force, append=append)
    demonstration = _read(source, registry, options)
    for warning in demonstration.warnings:
        click.echo(f"Warning: {warning}", err=True)
    store_demonstration(target, demonstration, registry=registry, force=force, append=append)
    click.echo(describe_written(target, demonstration))


def describe_written(target: str, demonstration: Demonstration) -> str:
    """`expert.h5: 62 transitions in 11 episodes`."""
    episodes = len(demonstration.episodes.lengths)
    return f"{target}: {len(demonstration)} transitions in {episodes} episode{'s' if episodes > 1 else ''}"


def _read(source: str, registry: Registry, options: Sequence[str]) -> Demonstration:
    """All of the source as one demonstration; its discrete actions may be no choices, as people have recorded them."""
    from agents_core.demonstrations import read_demonstrations

    given = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals:
            raise click.UsageError(f"--option {option}: expected KEY=VALUE")
        given[key] = value
    return read_demonstrations(source, registry=registry, options=given)


def _document(demonstration: Demonstration) -> dict[str, object]:
    from agents_core.demonstrations import episode_returns

    spec, summary = demonstration.spec, demonstration.summary
    returns = episode_returns(demonstration)
    return {
        "behavior": demonstration.behavior,
        "records": len(demonstration) if summary is None else summary.records,
        "transitions": len(demonstration),
        "episodes": len(returns),
        "observations": [
            {"name": seen.name, "shape": list(seen.shape), "dtype": seen.dtype, "kind": seen.kind}
            for seen in spec.observations
        ],
        "continuous_size": spec.action.continuous_size,
        "discrete_branches": list(spec.action.discrete_branches),
        "reward_sum": float(returns.sum()) if summary is None else summary.reward_sum,
        "returns": returns.tolist(),
        "lengths": demonstration.episodes.lengths.tolist(),
        "pairing": None if summary is None else summary.pairing,
        "warnings": list(demonstration.warnings),
    }


def _print(demonstration: Demonstration, document: dict[str, object]) -> None:
    from agents_core.demonstrations import describe_action, describe_observation, episode_returns

    episodes, spec = demonstration.episodes, demonstration.spec
    returns = episode_returns(demonstration)
    lines = {
        "behavior": demonstration.behavior or "not named",
        "records": f"{document['records']}, reward {document['reward_sum']:.6g}" if demonstration.summary else "",
        "transitions": str(len(demonstration)),
        "episodes": f"{len(returns)}: {int(episodes.columns['terminated'].sum())} terminated, "
        f"{int(episodes.columns['truncated'].sum())} truncated",
        "length": f"{episodes.lengths.min()} to {episodes.lengths.max()}, mean {episodes.lengths.mean():.1f}",
        "return": f"{returns.min():.6g} to {returns.max():.6g}, mean {returns.mean():.6g}",
        "observations": "; ".join(describe_observation(seen) for seen in spec.observations),
        "actions": describe_action(spec.action)
        + (", some of them masked" if "action_mask" in episodes.columns else ""),
        "pairing": "" if demonstration.summary is None else demonstration.summary.pairing,
    }
    width = max(map(len, lines))
    for name, line in lines.items():
        if line:
            click.echo(f"{name.ljust(width)}  {line}")
