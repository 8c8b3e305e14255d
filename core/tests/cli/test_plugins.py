"""`agents plugins`: list, show and check say everything, as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agents_core.cli.main import main
from agents_core.testing.installed import SIGNAL_FILES, install_plugin, reward_signal_hooks
from click.testing import CliRunner, Result

CONFIG = """
    from pydantic import Field

    from agents_core.options import RewardSignalConfig

    class Config(RewardSignalConfig):
        encoding_size: int = Field(64, ge=1, le=512, description="Width of the encoder. " + 20 * "Really. ")
        demo: str = Field(min_length=1, description="Where demonstrations are.")
    """


@pytest.fixture(autouse=True)
def novelty(site: Path) -> None:
    hooks = reward_signal_hooks("novelty", "agents_novel")
    install_plugin(site, "agents-novel", hooks, plugin="novel", files={**SIGNAL_FILES, "config.py": CONFIG})


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["plugins", *arguments])


def test_list_shows_component_kind_plugin_distribution_status_and_summary() -> None:
    result = run("list")
    assert result.exit_code == 0
    header, *lines = [line.split() for line in result.stdout.splitlines()]
    assert header == ["COMPONENT", "KIND", "PLUGIN", "DISTRIBUTION", "STATUS", "SUMMARY"]
    assert ["novelty", "reward", "signal", "novel", "agents-novel", "0.3", "ok", "A", "test", "signal"] in lines
    assert any(line[:3] == ["inline", "worker", "pool"] for line in lines)


def test_list_can_be_narrowed_to_a_kind() -> None:
    names = {line.split()[0] for line in run("list", "--kind", "reward-signal").stdout.splitlines()}
    assert {"novelty", "extrinsic"} <= names
    assert not {"inline", "console"} & names
    refused = run("list", "--kind", "signal")
    assert refused.exit_code == 2
    assert "'reward-signal'" in refused.stderr


def test_list_puts_blocked_and_broken_plugins_last_with_their_reason(site: Path) -> None:
    install_plugin(site, "agents-aaa", "raise ImportError('a library is missing ' * 30)")
    result = run("list", "--without", "novel")
    assert result.stdout.splitlines()[-2].split()[:6] == ["-", "-", "aaa", "agents-aaa", "0.3", "broken"]
    assert result.stdout.splitlines()[-2].endswith("a library is missing " * 29 + "a library is missing")
    assert result.stdout.splitlines()[-1].split() == [
        "-",
        "-",
        "novel",
        "agents-novel",
        "0.3",
        "blocked",
        "--without",
        "novel",
    ]
    assert "agents-novel" not in result.stderr
    assert "Warning: plugin 'aaa' of agents-aaa 0.3" in result.stderr


def test_list_as_json_is_one_document_with_every_plugin(site: Path) -> None:
    install_plugin(site, "agents-bad", "print('noise')\n1 / 0")
    result = run("list", "--json")
    rows = {row["plugin"]: row for row in json.loads(result.stdout)["plugins"]}
    assert rows["bad"]["status"] == "broken"
    assert rows["bad"]["reason"] == "ZeroDivisionError: division by zero"
    assert rows["novel"]["components"] == [
        {
            "name": "novelty",
            "kind": "reward-signal",
            "qualified_name": "agents-novel:novelty",
            "summary": "A test signal",
            "tags": [],
            "config": "agents_novel.config:Config",
            "factory": "agents_novel.signal:Signal",
        }
    ]


def test_list_shows_a_plugin_that_only_watches_and_one_that_adds_a_command(site: Path) -> None:
    install_plugin(site, "agents-watch", "@hookimpl\ndef agents_run_finished(status): ...")
    command = "[CommandSpec(name='tune', help='Search.', command='agents_tune.plugin:hookimpl')]"
    install_plugin(site, "agents-tune", f"@hookimpl\ndef agents_commands():\n    return {command}")
    lines = [line.split() for line in run("list").stdout.splitlines()]
    assert ["-", "-", "watch", "agents-watch", "0.3", "ok", "agents_run_finished"] in lines
    assert ["tune", "command", "tune", "agents-tune", "0.3", "ok", "Search."] in lines


def test_show_says_which_buffer_a_trainer_samples_from(site: Path) -> None:
    anything = "agents_core.options:NoOptions"
    spec = f"name='sampler', summary='Samples', config='{anything}', factory='{anything}', buffer='replay'"
    install_plugin(site, "agents-sampler", f"@hookimpl\ndef agents_trainers():\n    return [TrainerSpec({spec})]")
    assert "replay by default: agents plugins show replay" in run("show", "sampler").stdout
    assert "buffer  " not in run("show", "novelty").stdout


@pytest.mark.parametrize("name", ["novelty", "novel", "agents-novel", "agents-novel:novelty"])
def test_show_says_where_it_comes_from_and_how_to_configure_it(site: Path, name: str) -> None:
    result = run("show", name)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "agents-novel 0.3: plugin 'novel', ok"
    facts = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines[1:7]}
    assert facts["module"] == f"agents_novel.plugin ({site / 'agents_novel' / 'plugin.py'})"
    assert facts["hooks"] == "agents_reward_signals"
    assert facts["licence"] == "MIT"
    assert facts["url"] == "Source, https://example.org/source"
    assert facts["requires"] == "agents-core>=0.1,<0.2"
    assert "reward signal 'novelty': A test signal" in lines
    assert any(line.split()[:5] == ["FIELD", "TYPE", "DEFAULT", "BOUNDS", "DESCRIPTION"] for line in lines)
    (row,) = [line for line in lines if line.startswith("encoding_size")]
    assert row.split()[1:] == f"integer 64 >= 1, <= 512 Width of the encoder. {20 * 'Really. '}".split()
    assert any(line.split()[:3] == ["demo", "text", "required"] for line in lines)
    assert result.stdout.endswith('behaviors:\n  "*":\n    reward_signals:\n      novelty: {demo: <text>}\n')


def test_show_as_json_has_the_config_table() -> None:
    (plugin,) = json.loads(run("show", "novelty", "--json").stdout)["plugins"]
    (component,) = plugin["components"]
    fields = {field["name"]: field for field in component["fields"]}
    assert fields["demo"]["is_required"] is True
    assert fields["strength"]["default"] == "1.0"
    assert (plugin["licence"], plugin["core_requirement"]) == ("MIT", "agents-core>=0.1,<0.2")


def test_show_of_one_component_of_core_leaves_the_others_out() -> None:
    text = run("show", "inline").stdout
    assert "worker pool 'inline'" in text
    assert "worker pool 'process'" not in text
    assert "environment:\n  workers: {type: inline}" in text


def test_show_of_a_broken_plugin_gives_the_reason(site: Path) -> None:
    install_plugin(site, "agents-bad", "1 / 0")
    result = run("show", "agents-bad")
    assert result.exit_code == 0
    assert "agents-bad 0.3: plugin 'bad', broken" in result.stdout
    assert "reason      ZeroDivisionError: division by zero" in result.stdout


def test_show_survives_a_config_that_cannot_be_imported(site: Path) -> None:
    files = {**SIGNAL_FILES, "config.py": "1 / 0\nfrom x import Config"}
    install_plugin(site, "agents-odd", reward_signal_hooks("odd", "agents_odd"), files=files)
    result = run("show", "odd")
    assert result.exit_code == 0
    assert "problem     reward signal 'odd': config 'agents_odd.config:Config' of plugin" in result.stdout
    (plugin,) = json.loads(run("show", "odd", "--json").stdout)["plugins"]
    assert "ZeroDivisionError" in plugin["components"][0]["config_problem"]


def test_show_of_an_unknown_name_suggests_the_nearest() -> None:
    result = run("show", "noveltyy")
    assert result.exit_code == 2
    assert "named 'noveltyy'. Did you mean 'novelty'?" in result.stderr


def test_show_of_a_name_that_two_plugins_offer_shows_both(site: Path) -> None:
    install_plugin(site, "agents-fork", reward_signal_hooks("novelty", "agents_fork"), files=SIGNAL_FILES)
    text = run("show", "novelty").stdout
    assert "agents-novel 0.3: plugin 'novel', duplicate" in text
    assert "agents-fork 0.3: plugin 'fork', duplicate" in text


def test_check_passes_what_is_in_order_and_fails_what_is_not(site: Path) -> None:
    good = run("check", "novelty")
    assert good.exit_code == 0, good.stdout
    assert "  ok    hooks and configs import nothing heavy" in good.stdout
    files = {**SIGNAL_FILES, "signal.py": "Signal = 3"}
    install_plugin(site, "agents-odd", reward_signal_hooks("odd", "agents_odd"), files=files)
    bad = run("check", "odd")
    assert bad.exit_code == 2
    assert "  FAIL  reward signal 'odd': factory: " in bad.stdout
    document = json.loads(run("check", "odd", "--json").stdout)
    assert document["failed"] == 1
    assert [check["name"] for check in document["plugins"][0]["checks"] if check["problem"]] == [
        "reward signal 'odd': factory"
    ]


def test_blocking_an_unknown_name_is_refused_everywhere() -> None:
    for command in (["list"], ["show", "novelty"], ["check", "novelty"]):
        result = run(*command, "--without", "novell")
        assert result.exit_code == 2
        assert "--without novell: no plugin, distribution or component has this name. Did you mean" in result.stderr


LOCAL_SIGNAL = """
import torch

from agents_core.contracts.reward_signal import RewardSignal
from agents_core.options import RewardSignalConfig
from agents_core.plugin import RewardSignalSpec, hookimpl
from pydantic import Field


class Config(RewardSignalConfig):
    bonus: float = Field(default=1.0, description="Reward of each transition.")


class Bonus(RewardSignal):
    def __init__(self, context):
        self.strength, self.gamma = context.config.strength, context.config.gamma
        self.bonus = context.config.bonus

    def evaluate(self, batch):
        return torch.full((len(batch),), self.bonus, dtype=torch.float32)


@hookimpl
def agents_reward_signals():
    return [
        RewardSignalSpec(name="bonus", summary="A bonus", config="local_bonus:Config", factory="local_bonus:Bonus")
    ]
"""


def test_check_runs_the_conformance_kit_on_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "local_bonus.py").write_text(LOCAL_SIGNAL)
    monkeypatch.chdir(tmp_path)
    good = run("check", "local_bonus.py")
    assert good.exit_code == 0, good.stdout
    assert "  ok    reward signal 'bonus': rewards are float32 one a row on the device" in good.stdout
    assert "  ok    reward signal 'bonus': a spawned process computes the same" in good.stdout
    assert "  skip  reward signal 'bonus': the readme shows a config that is valid: " in good.stdout

    bad = run("check", "local_bonus.py", "--set", "bonus=.nan")
    assert bad.exit_code == 0, "NaN is no option"
    assert "give it options with --set KEY=VALUE (bonus: " in bad.stdout

    (tmp_path / "local_bonus.py").write_text(LOCAL_SIGNAL.replace("float32", "float64"))
    bad = run("check", "local_bonus.py")
    assert bad.exit_code == 2
    assert bad.stdout.count("  FAIL  ") == 1
    assert "  expected: torch.float32 [64] on cpu" in bad.stdout
    assert "        Mend: end with `.float()`" in bad.stdout


def test_check_takes_options_and_refuses_those_of_nobody() -> None:
    skipped = run("check", "novelty")
    assert "  skip  reward signal 'novelty': behaves: give it options with --set KEY=VALUE (demo: " in skipped.stdout
    wrong = run("check", "novelty", "--set", "lenght=3")
    assert wrong.exit_code == 2
    assert "--set lenght: nothing that 'novelty' means has such an option" in wrong.stderr
    tried = run("check", "novelty", "--set", "demo=x")
    assert tried.exit_code == 2
    assert "the factory returns a RewardSignal" in tried.stdout or "it raises" in tried.stdout
