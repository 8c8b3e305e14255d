"""Many bad plugins at once: the program works, names each, and good plugins are untouched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from agents_core.registry import load_registry
from agents_core.testing.installed import SIGNAL_FILES, install_plugin, reward_signal_hooks

TRAINERS = "@hookimpl\ndef agents_trainers():\n    "

# Distribution -> (hooks, status, part of the reason).
BAD_HOOKS = {
    "agents-bad-import": ("import no_such_module", "broken", "ModuleNotFoundError: No module named 'no_such_module'"),
    "agents-bad-syntax": ("def broken(:", "broken", "SyntaxError: "),
    "agents-bad-exit": ("import sys\nsys.exit(1)", "broken", "it called sys.exit(1)"),
    "agents-bad-signature": ("@hookimpl\ndef agents_trainers(x): ...", "broken", "agents_trainers(x)"),
    "agents-bad-hook": ("@hookimpl\ndef agents_buffer(): ...", "broken", "unknown hook 'agents_buffer'"),
    "agents-bad-none": (TRAINERS + "return None", "broken", "agents_trainers returned None"),
    "agents-bad-rubbish": (TRAINERS + "return 5", "broken", "agents_trainers returned a value of type int"),
    "agents-bad-item": (TRAINERS + "return [object()]", "broken", "a value of type object at [0]"),
    "agents-bad-raise": (TRAINERS + "raise KeyError('licence')", "broken", "KeyError: 'licence'"),
    "agents-bad-wrapper": ("@hookimpl(wrapper=True)\ndef agents_trainers():\n    yield", "broken", "is a wrapper"),
    "agents-bad-name": (reward_signal_hooks("Nice Name", "x"), "broken", "offers the name 'Nice Name'"),
    "agents-bad-target": (reward_signal_hooks("a", "x", factory="x/signal"), "broken", "expected 'module:attribute'"),
    "agents-bad-module": (reward_signal_hooks("b", "no_package"), "broken", "there is no module 'no_package'"),
    "agents-bad-empty": ("", "empty", "it has no function marked with @hookimpl"),
    "agents-bad-twin-a": (
        reward_signal_hooks("twin", "agents_bad_twin_a"),
        "duplicate",
        "'twin' also belongs to agents-bad-twin-b 0.3",
    ),
    "agents-bad-twin-b": (
        reward_signal_hooks("twin", "agents_bad_twin_b"),
        "duplicate",
        "'twin' also belongs to agents-bad-twin-a 0.3",
    ),
    "agents-bad-core-name": (
        reward_signal_hooks("extrinsic", "agents_bad_core_name"),
        "duplicate",
        "'extrinsic' also belongs to agents-core",
    ),
    "agents-bad-factory": (
        reward_signal_hooks("c", "agents_bad_factory", factory="agents_bad_factory.signal:Gone"),
        "broken",
        "has no 'Gone'",
    ),
    "agents-bad-model": (
        reward_signal_hooks("d", "agents_bad_model", config="agents_bad_model.signal:Signal"),
        "broken",
        "is no subclass of",
    ),
}
SPECIAL = {
    "agents-bad-new": ("incompatible", "needs agents-core>=7"),
    "agents-bad-old": ("incompatible", "supports agents-core<0.0.1"),
    "agents-bad-requirement": ("broken", "its requirement on agents-core cannot be read"),
    "agents-bad-entry": ("broken", "No module named 'agents_bad_entry.nowhere'"),
}
EXPECTED = {**{name: (status, reason) for name, (_, status, reason) in BAD_HOOKS.items()}, **SPECIAL}


@pytest.fixture
def bad_site(site: Path) -> Path:
    for name, (hooks, _, _) in BAD_HOOKS.items():
        install_plugin(site, name, hooks, files=SIGNAL_FILES)
    install_plugin(site, "agents-bad-new", "1 / 0", requires=["agents-core>=7"])
    install_plugin(site, "agents-bad-old", "1 / 0", requires=["agents-core<0.0.1"])
    install_plugin(site, "agents-bad-requirement", "1 / 0", requires=["agents-core 1 or so"])
    install_plugin(site, "agents-bad-entry", "", entry_points="[agents.plugins]\nentry = agents_bad_entry.nowhere\n")
    install_plugin(site, "agents-good", reward_signal_hooks("good", "agents_good"), files=SIGNAL_FILES)
    return site


def agents(site: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", "from agents_core.cli.main import main; main(prog_name='agents')", *arguments],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_bad_plugin_has_its_own_status_and_the_good_one_is_found(bad_site: Path) -> None:
    assert len(EXPECTED) > 20
    registry = load_registry()
    found = {record.distribution: (record.status, record.reason) for record in registry.records}
    for name, (status, reason) in EXPECTED.items():
        assert found[name][0] == status, found[name]
        assert reason in (found[name][1] or ""), found[name]
    assert registry.find("reward-signal", "good").distribution == "agents-good"
    assert registry.find("reward-signal", "extrinsic").distribution == "agents-core"
    assert bad_site.is_dir()


def test_help_works_and_names_each_bad_plugin_on_one_line(bad_site: Path) -> None:
    done = agents(bad_site, "--help")
    assert done.returncode == 0, done.stderr
    assert "plugins   List, show and check installed plugins." in done.stdout
    lines = done.stderr.splitlines()
    for name, (status, reason) in EXPECTED.items():
        (line,) = [line for line in lines if line.startswith("Warning: ") and f" of {name} 0.3 " in line]
        assert f"is {status}: " in line
        assert reason in line
    assert "Traceback" not in done.stderr


def test_list_works_and_names_each_bad_plugin_with_its_reason(bad_site: Path) -> None:
    done = agents(bad_site, "plugins", "list")
    assert done.returncode == 0, done.stderr
    for name, (status, reason) in EXPECTED.items():
        lines = [line for line in done.stdout.splitlines() if f" {name} 0.3 " in line]
        assert lines, name
        assert all(f" {status} " in line for line in lines)
        assert status == "duplicate" or any(reason in line for line in lines)
        assert any(f" {name} " in line and reason in line for line in done.stderr.splitlines())
    document = json.loads(agents(bad_site, "plugins", "list", "--json").stdout)
    reasons = {row["distribution"]: row["reason"] for row in document["plugins"]}
    assert all(reason in reasons[name] for name, (_, reason) in EXPECTED.items())


def test_the_traceback_of_a_bad_plugin_is_shown_on_request(bad_site: Path) -> None:
    done = agents(bad_site, "--help", AGENTS_PLUGIN_TRACEBACK="1")
    assert done.returncode == 0
    assert "Traceback (most recent call last)" in done.stderr
    assert "raise KeyError('licence')" in done.stderr


def test_strict_plugins_makes_every_bad_plugin_an_error(bad_site: Path) -> None:
    done = agents(bad_site, "plugins", "list", "--strict-plugins")
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"Error: {len(EXPECTED)} plugins are not in order:" in done.stderr
    assert all(name in done.stderr for name in EXPECTED)


def test_strict_plugins_accepts_bad_plugins_that_are_blocked(bad_site: Path) -> None:
    done = agents(bad_site, "plugins", "list", "--strict-plugins", AGENTS_LOAD_PLUGINS="good")
    assert done.returncode == 0, done.stderr
    assert "not named in AGENTS_LOAD_PLUGINS" in done.stdout


@pytest.mark.slow
def test_training_with_good_plugins_works_among_bad_ones(bad_site: Path, tmp_path: Path) -> None:
    pytest.importorskip("agents_ppo")
    pytest.importorskip("agents_env_gymnasium")
    done = agents(bad_site, "run", "--plugin", "ppo", "--max-steps", "1024", "--results", str(tmp_path / "results"))
    assert done.returncode == 0, done.stderr
    (summary,) = (tmp_path / "results").glob("*/summary.json")
    assert json.loads(summary.read_text())["status"] == "finished"
    refused = agents(bad_site, "run", "--plugin", "ppo", "--plugin", "twin", "--results", str(tmp_path / "none"))
    assert refused.returncode == 2
    assert "is offered by agents-bad-twin-a 0.3 and agents-bad-twin-b 0.3" in refused.stderr
    assert not (tmp_path / "none").exists()
