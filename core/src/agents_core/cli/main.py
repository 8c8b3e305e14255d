"""The `agents` command: a group that imports a command only when it is called."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from agents_core import __version__
from agents_core.errors import AgentsError

if TYPE_CHECKING:
    from agents_core.registry import Registry

INTERRUPTED = 130

COMMANDS: Mapping[str, tuple[str, str]] = {
    "run": ("agents_core.cli.run:run", "Train: an experiment file, or a plugin by name."),
    "resume": ("agents_core.cli.resume:resume", "Continue a run from its last checkpoint."),
    "evaluate": ("agents_core.cli.evaluate:evaluate", "Measure a trained policy over whole episodes."),
    "config": ("agents_core.cli.config:config", "Check, show and write experiment files."),
    "plugins": ("agents_core.cli.plugins:plugins", "List, show and check installed plugins."),
}
"""Core's commands: name -> (`module:attribute` of a click command, line for `agents --help`)."""


class ReportedError(click.ClickException):
    """An `AgentsError` on its way to the user: `Error: message` on stderr and the error's exit code."""

    def __init__(self, error: AgentsError) -> None:
        super().__init__(str(error))
        self.exit_code = error.exit_code


class LazyGroup(click.Group):
    """Knows its commands by name and help line; plugins are loaded only where their commands matter."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if not sys.stdout.isatty():
            # Help that goes to a file or a pipe is neither wrapped nor cut.
            extra.setdefault("terminal_width", 1_000_000)
        return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *_plugin_commands(_load_plugins())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, _, attribute = COMMANDS[cmd_name][0].partition(":")
            command = getattr(importlib.import_module(module), attribute)
            assert isinstance(command, click.Command)
            return command
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        command = self.get_command(ctx, args[0])
        if command is not None or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        ctx.fail(f"No such command '{args[0]}'.{hint}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, help_line) for name, (_, help_line) in COMMANDS.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except AgentsError as error:
            raise ReportedError(error) from error
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None


def _load_plugins() -> Registry | None:
    return None


def _plugin_commands(registry: Registry | None) -> list[str]:
    return []


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="agents", message="%(prog)s %(version)s")
def main() -> None:
    """Train agents with reinforcement learning; every part is a plugin."""
