"""The `agents` command starts fast, loads no more than it needs, and ends with the right exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from agents_core import __version__
from agents_core.cli import main as cli
from agents_core.errors import EnvironmentFailedError, NonFiniteError, UserError
from agents_core.testing.installed import SIGNAL_FILES, install_plugin, reward_signal_hooks
from click.testing import CliRunner

HEAVY = ("torch", "numpy", "gymnasium", "grpc", "tensorboard", "pydantic", "rich")
SHOW_MODULES = f"""
import sys
from agents_core.cli.main import main
try:
    main(prog_name="agents")
finally:
    heavy = [name for name in {HEAVY!r} if name in sys.modules]
    print("MODULES", "agents_core.registry" in sys.modules, heavy, file=sys.stderr)
"""


def run_fresh(*arguments: str, site: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command in an interpreter of its own; its last line on stderr says what was imported."""
    path = [] if site is None else [str(site)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*path, os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(
        [sys.executable, "-c", SHOW_MODULES, *arguments], env=environment, capture_output=True, text=True, check=False
    )


COMMAND = """
    import click
    from agents_core.errors import UserError

    @click.command()
    def tune():
        "Search for better values."
        click.echo("tuned")

    @click.command()
    def fail():
        raise UserError("nothing to tune")

    NOT_A_COMMAND = 3
    """


def command_hooks(*commands: tuple[str, str]) -> str:
    specs = ", ".join(f"CommandSpec(name={name!r}, help='Search.', command={target!r})" for name, target in commands)
    return f"@hookimpl\ndef agents_commands():\n    return [{specs}]\n"


@pytest.mark.parametrize("arguments", [["--help"], ["plugins", "list"], ["plugins", "list", "--json"]])
def test_help_and_list_import_nothing_heavy_with_all_plugins_loaded(arguments: list[str]) -> None:
    done = run_fresh(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "MODULES True []"


def test_the_version_and_the_help_of_a_command_load_no_plugin(site: Path) -> None:
    install_plugin(site, "agents-bad", "1 / 0")
    version = run_fresh("--version", site=site)
    assert version.stdout == f"agents {__version__}\n"
    assert version.stderr == "MODULES False []\n"
    help_of_list = run_fresh("plugins", "list", "--help", site=site)
    assert help_of_list.returncode == 0
    assert "agents-bad" not in help_of_list.stderr


def test_help_lists_every_command_of_core_without_importing_one() -> None:
    done = run_fresh("--help")
    assert all(f"  {name} " in done.stdout for name in cli.COMMANDS)
    assert "Documentation: the README and docs/" in done.stdout


def test_a_command_of_a_plugin_is_listed_and_imported_only_when_called(site: Path) -> None:
    install_plugin(site, "agents-tuner", command_hooks(("tune", "agents_tuner.cli:tune")), files={"cli.py": COMMAND})
    runner = CliRunner()
    shown = runner.invoke(cli.main, ["--help"])
    assert "Commands of plugins:\n  tune  Search. (agents-tuner 0.3)" in shown.stdout
    assert "agents_tuner.cli" not in sys.modules
    for name in ("tune", "agents-tuner:tune"):
        assert runner.invoke(cli.main, [name]).stdout == "tuned\n"
    assert "Search for better values." in runner.invoke(cli.main, ["tune", "--help"]).stdout


def test_a_command_that_two_plugins_offer_is_refused_when_called(site: Path) -> None:
    for name in ("agents-one", "agents-two"):
        target = f"{name.replace('-', '_')}.cli:tune"
        install_plugin(site, name, command_hooks(("tune", target)), files={"cli.py": COMMAND})
    result = CliRunner().invoke(cli.main, ["tune"])
    assert result.exit_code == 2
    assert "Error: command 'tune' is offered by agents-one 0.3 and agents-two 0.3" in result.stderr
    assert CliRunner().invoke(cli.main, ["agents-two:tune"]).stdout == "tuned\n"


def test_a_plugin_cannot_take_the_name_of_a_core_command(site: Path) -> None:
    hooks = command_hooks(("plugins", "agents_tuner.cli:tune"))
    install_plugin(site, "agents-tuner", hooks, files={"cli.py": COMMAND})
    result = CliRunner().invoke(cli.main, ["plugins", "list"])
    assert "tuned" not in result.stdout
    assert "Commands of plugins" not in CliRunner().invoke(cli.main, ["--help"]).stdout


def test_a_command_that_is_none_names_its_plugin(site: Path) -> None:
    hooks = command_hooks(("odd", "agents_tuner.cli:NOT_A_COMMAND"))
    install_plugin(site, "agents-tuner", hooks, files={"cli.py": COMMAND})
    result = CliRunner().invoke(cli.main, ["odd"])
    assert result.exit_code == 2
    assert "'agents_tuner.cli:NOT_A_COMMAND' of plugin 'tuner' of agents-tuner 0.3 is no click command" in result.stderr


def test_an_unknown_command_names_the_nearest_and_bad_plugins_that_may_offer_it(site: Path) -> None:
    install_plugin(site, "agents-tuner", command_hooks(("tune", "agents_tuner.cli:tune")), files={"cli.py": COMMAND})
    install_plugin(site, "agents-bad", "1 / 0")
    result = CliRunner().invoke(cli.main, ["tunee"])
    assert result.exit_code == 2
    assert "No such command 'tunee'. Did you mean 'tune'?" in result.stderr
    assert "Warning: plugin 'bad' of agents-bad 0.3" in result.stderr
    assert "Did you mean 'plugins'?" in CliRunner().invoke(cli.main, ["plugin"]).stderr


@pytest.mark.parametrize(("error", "exit_code"), [(UserError, 2), (EnvironmentFailedError, 3), (NonFiniteError, 4)])
def test_our_errors_are_one_message_with_their_exit_code(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception], exit_code: int
) -> None:
    result = CliRunner().invoke(with_command(monkeypatch, error("what is wrong")), ["boom"])
    assert result.exit_code == exit_code
    assert result.stderr == "Error: what is wrong\n"
    assert result.stdout == ""


def test_a_bug_of_ours_shows_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(with_command(monkeypatch, ZeroDivisionError("bug")), ["boom"])
    assert result.exit_code == 1
    assert isinstance(result.exception, ZeroDivisionError)


def test_an_interrupt_outside_a_run_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(with_command(monkeypatch, KeyboardInterrupt()), ["boom"])
    assert result.exit_code == 130
    assert result.stderr == "Interrupted.\n"


def test_the_cause_in_a_plugin_is_traced_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    error = UserError("the plugin is broken")
    error.__cause__ = ZeroDivisionError("in a plugin")
    group = with_command(monkeypatch, error)
    assert "ZeroDivisionError" not in CliRunner().invoke(group, ["boom"]).stderr
    monkeypatch.setenv("AGENTS_PLUGIN_TRACEBACK", "1")
    assert "ZeroDivisionError: in a plugin" in CliRunner().invoke(group, ["boom"]).stderr


def with_command(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> click.Group:
    """The program with a command `boom` that raises `error`."""

    @click.command()
    def boom() -> None:
        raise error

    monkeypatch.setattr(sys.modules[__name__], "boom", boom, raising=False)
    monkeypatch.setitem(sys.modules, "command_that_fails", sys.modules[__name__])
    monkeypatch.setattr(cli, "COMMANDS", {**cli.COMMANDS, "boom": ("command_that_fails:boom", "Fail.")})
    return cli.main


def test_a_module_of_a_core_command_that_is_missing_does_not_break_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "COMMANDS", {**cli.COMMANDS, "gone": ("agents_core.cli.gone:gone", "Not there.")})
    result = CliRunner().invoke(cli.main, ["--help"])
    assert result.exit_code == 0
    assert "Not there." in result.stdout


def test_help_that_goes_to_a_pipe_is_neither_wrapped_nor_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "A long line of help. " * 20
    monkeypatch.setattr(cli, "COMMANDS", {**cli.COMMANDS, "long": ("agents_core.cli.gone:gone", line.strip())})
    assert line.strip() in CliRunner().invoke(cli.main, ["--help"]).stdout


def test_help_works_where_the_environment_asks_for_the_impossible(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(site, "agents-x", reward_signal_hooks("x", "agents_x"), files=SIGNAL_FILES)
    monkeypatch.setenv("AGENTS_DISABLE_PLUGINS", "core")
    result = CliRunner().invoke(cli.main, ["--help"])
    assert result.exit_code == 0
    assert "Warning: AGENTS_DISABLE_PLUGINS names core: 'core' is essential and cannot be blocked" in result.stderr
