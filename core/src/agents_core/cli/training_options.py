"""Options that `run` and `resume` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def training_options(command: CommandT) -> CommandT:
    """Add `--max-steps`, `--set` and `--quiet`, passed as `max_steps`, `overrides` and `quiet`."""
    options = [
        click.option("--max-steps", type=click.IntRange(min=1), help="Decisions to train for, for every behavior."),
        click.option(
            "--set",
            "overrides",
            multiple=True,
            metavar="KEY=VALUE",
            help="Change a value, such as --set 'behaviors.*.trainer.learning_rate=1e-3'; repeatable.",
        ),
        click.option("--quiet", is_flag=True, help="Print nothing but errors."),
    ]
    for option in reversed(options):
        command = option(command)
    return command
