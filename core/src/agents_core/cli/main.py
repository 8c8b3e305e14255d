"""The `agents` command: a group that imports a command only when it is called."""

from __future__ import annotations

import difflib
import importlib
import logging
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import click

from agents_core import __version__
from agents_core.errors import AgentsError

if TYPE_CHECKING:
    from agents_core.registry import PluginCommand, Registry

INTERRUPTED = 130
_REGISTRY = f"{__name__}.registry"

COMMANDS: Mapping[str, tuple[str, str]] = {
    "run": ("agents_core.cli.run:run", "Train: an experiment file, or a plugin by name."),
    "resume": ("agents_core.cli.resume:resume", "Continue a run from its last checkpoint."),
    "evaluate": ("agents_core.cli.evaluate:evaluate", "Measure a trained policy over whole episodes."),
    "record": ("agents_core.cli.record:record", "Write episodes of a trained policy to a file, as demonstrations."),
    "demo": ("agents_core.cli.demo:demo", "Look at demonstrations and convert them."),
    "config": ("agents_core.cli.config:config", "Check, show and write experiment files."),
    "plugins": ("agents_core.cli.plugins:plugins", "List, show and check installed plugins."),
    "new": ("agents_core.cli.new:new", "Write a plugin of your own: a complete distribution to publish."),
}
"""Core's commands: name -> (`module:attribute` of a click command, line for `agents --help`)."""


class LazyGroup(click.Group):
    """Knows core's commands by name and help line; plugins are loaded only where their commands matter."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if not (sys.stdout and sys.stdout.isatty()):
            # Help that goes to a file or a pipe is neither wrapped nor cut.
            extra.setdefault("terminal_width", 1_000_000)
        return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:
        registry = _load_plugins(ctx)
        return [*COMMANDS, *(command.name for command in _visible_commands(registry))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, _, attribute = COMMANDS[cmd_name][0].partition(":")
            return cast("click.Command", getattr(importlib.import_module(module), attribute))
        registry = _load_plugins(ctx)
        return None if registry is None else _plugin_command(registry, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        command = self.get_command(ctx, name)
        if command is None and not ctx.resilient_parsing:
            _report(_load_plugins(ctx))
            near = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
            raise click.UsageError(f"No such command '{name}'." + (f" Did you mean '{near[0]}'?" if near else ""), ctx)
        return name, command, args[1:]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        registry = _load_plugins(ctx)
        _report(registry)
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])
        added = _visible_commands(registry)
        if added:
            with formatter.section("Commands of plugins"):
                formatter.write_dl(
                    [(command.name, f"{command.spec.help} ({command.origin.label})") for command in added]
                )

    def invoke(self, ctx: click.Context) -> Any:
        logging.basicConfig(format="%(levelname)s: %(message)s")
        for handler in logging.getLogger().handlers:
            handler.setLevel(logging.WARNING)  # run.log lowers the level of loggers
        try:
            return super().invoke(ctx)
        except AgentsError as error:
            from agents_core.cli.options import report_traceback

            if error.__cause__ is not None:
                report_traceback(error.__cause__)
            click.echo(f"{error.heading}{error}", err=True)
            raise click.exceptions.Exit(error.exit_code) from error
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None


def _load_plugins(ctx: click.Context) -> Registry | None:
    """The registry for plugin commands; None where an environment variable asks for what cannot be."""
    if _REGISTRY not in ctx.meta:
        from agents_core.registry import load_registry

        try:
            ctx.meta[_REGISTRY] = load_registry()
        except AgentsError as error:
            click.echo(f"Warning: {error}", err=True)
            ctx.meta[_REGISTRY] = None
    return cast("Registry | None", ctx.meta[_REGISTRY])


def _report(registry: Registry | None) -> None:
    if registry is not None:
        from agents_core.cli.options import report_bad_plugins

        report_bad_plugins(registry.records)


def _visible_commands(registry: Registry | None) -> list[PluginCommand]:
    """The commands of plugins that their plain name calls: core's own come first."""
    return [] if registry is None else [command for command in registry.commands() if command.name not in COMMANDS]


def _plugin_command(registry: Registry, name: str) -> click.Command | None:
    from agents_core.registry import BrokenPluginError

    found = registry.find_command(name)
    if found is None:
        return None
    command = found.load()
    if not isinstance(command, click.Command):
        raise BrokenPluginError(f"{found.title}: '{found.spec.command}' of {found.origin.title} is no click command")
    return command


@click.group(
    cls=LazyGroup,
    epilog="Documentation: the README and docs/ of the source, which `mkdocs serve` makes a site of; every option of a "
    "part is in `agents plugins show NAME`, the form of an experiment file in `agents config schema`.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="agents", message="%(prog)s %(version)s")
def main() -> None:
    """Train agents with reinforcement learning; every part is a plugin."""
