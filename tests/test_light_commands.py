"""Commands that only look at plugins and files start fast because they import nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("torch", "gymnasium", "grpc", "tensorboard", "numpy")
CONFIG = str(ROOT / "configs" / "cartpole.yaml")

# Runs the command line in this interpreter and reports which heavy modules it left behind.
PROGRAM = """
import json, sys
from agents_core.cli.main import main
try:
    main(sys.argv[2:], prog_name="agents")
except SystemExit as stop:
    code = stop.code
heavy = [name for name in json.loads(sys.argv[1]) if name in sys.modules]
print("HEAVY", json.dumps([code or 0, heavy]))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["--help"],
        ["run", "--help"],
        ["record", "--help"],
        ["demo", "info", "--help"],
        ["plugins", "list"],
        ["plugins", "list", "--json"],
        ["config", "validate", CONFIG],
        ["config", "show", CONFIG],
        ["new", "trainer", "sample"],
    ],
    ids=lambda arguments: " ".join(arguments).replace(CONFIG, "FILE"),
)
def test_command_imports_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, json.dumps(HEAVY), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    code, heavy = json.loads(done.stdout.rpartition("HEAVY ")[2])
    assert code == 0, done.stderr
    assert heavy == []


GROUND = ("errors", "spec", "columns", "trajectory", "schedules", "seeding", "timers", "options", "plugin", "builtin")
LIGHT_PACKAGES = ("registry", "contracts", "config", "experience", "demonstrations")

WALK = """
import importlib, json, pkgutil, sys
import agents_core
grounds, packages = json.loads(sys.argv[1])
for name in grounds:
    importlib.import_module(f"agents_core.{name}")
for name in packages:
    package = importlib.import_module(f"agents_core.{name}")
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
print(json.dumps("torch" in sys.modules))
"""


def test_nothing_below_networks_imports_torch() -> None:
    command = [sys.executable, "-c", WALK, json.dumps([GROUND, LIGHT_PACKAGES])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) is False


PLUGIN_WALK = """
import json, sys
from importlib.metadata import entry_points
for entry_point in entry_points(group="agents.plugins"):
    if entry_point.dist.name.startswith("agents-"):
        entry_point.load()
print(json.dumps([name for name in json.loads(sys.argv[1]) if name in sys.modules]))
"""


def test_first_party_plugin_modules_import_nothing_heavy() -> None:
    command = [sys.executable, "-c", PLUGIN_WALK, json.dumps(HEAVY)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) == []
