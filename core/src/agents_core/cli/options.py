"""Options that commands share."""

from __future__ import annotations

import functools
import os
import traceback
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from agents_core.registry import PluginRecord, Registry, load_registry

ReturnT = TypeVar("ReturnT")

TRACEBACK_VARIABLE = "AGENTS_PLUGIN_TRACEBACK"


def plugin_options(function: Callable[..., ReturnT]) -> Callable[..., ReturnT]:
    """Give a command `--without NAME` and `--strict-plugins`, and load plugins accordingly.

    The command's function gets the keyword argument `registry: Registry`.
    """

    @click.option("--without", multiple=True, metavar="NAME", help="Do not load this plugin (repeatable).")
    @click.option("--strict-plugins", is_flag=True, help="Refuse to go on if an installed plugin is not in order.")
    @functools.wraps(function)
    def with_registry(*arguments: Any, without: tuple[str, ...], strict_plugins: bool, **options: Any) -> ReturnT:
        registry: Registry = load_registry(without=without)
        if strict_plugins:
            registry.refuse_bad_plugins()
        return function(*arguments, registry=registry, **options)

    return with_registry


def report_bad_plugins(records: Iterable[PluginRecord]) -> None:
    """One line on stderr for each plugin that is not in order; under AGENTS_PLUGIN_TRACEBACK=1 with its traceback."""
    for record in records:
        if record.is_bad:
            click.echo(f"Warning: {record.complaint}", err=True)
            if record.error is not None:
                report_traceback(record.error)


def report_traceback(error: BaseException) -> None:
    """Where an exception of a plugin was raised, on stderr, if AGENTS_PLUGIN_TRACEBACK=1 asks for it."""
    if os.environ.get(TRACEBACK_VARIABLE, "0") not in ("", "0"):
        click.echo("".join(traceback.format_exception(type(error), error, error.__traceback__)), err=True)
