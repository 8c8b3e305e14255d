"""Every distribution of the repository looks the same and is known to the tools that look after it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from source_files import imported_names

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PLUGINS = sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))
PROJECTS = [ROOT / "core", *PLUGINS]


def _project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


SUITE = _project(ROOT)


@pytest.fixture(params=PLUGINS, ids=lambda folder: folder.name)
def plugin(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


def _package(folder: Path) -> str:
    return "agents_core" if folder.name == "core" else f"agents_{folder.name}"


@pytest.mark.parametrize("folder", PROJECTS, ids=lambda folder: folder.name)
def test_all_distributions_share_one_version(folder: Path) -> None:
    assert _project(folder)["project"]["version"] == SUITE["project"]["version"]


@pytest.mark.parametrize("folder", PROJECTS, ids=lambda folder: folder.name)
def test_suite_installs_the_distribution_and_tools_check_it(folder: Path) -> None:
    name = _project(folder)["project"]["name"]
    requirements = [re.split(r"[<>=!~ ]", line)[0] for line in SUITE["project"]["dependencies"]]
    source = f"{folder.relative_to(ROOT).as_posix()}/src"
    assert name in requirements
    assert source in SUITE["tool"]["mypy"]["files"]
    assert source in SUITE["tool"]["mypy"]["mypy_path"]
    assert _package(folder) in SUITE["tool"]["importlinter"]["root_packages"]


def test_import_contracts_name_every_plugin() -> None:
    packages = {_package(folder) for folder in PLUGINS}
    contracts = {contract["name"]: contract for contract in SUITE["tool"]["importlinter"]["contracts"]}
    assert packages <= set(contracts["Core knows no plugin and nothing that only a plugin needs"]["forbidden_modules"])
    assert set(contracts["No plugin imports another"]["modules"]) == packages
    outside = contracts["Plugins stay out of the command line and of core's own registrations"]
    assert set(outside["source_modules"]) == packages


def test_the_install_command_of_the_readme_names_every_distribution() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    (command,) = [line for line in lines if "--no-build-isolation -e core" in line]
    assert {f"plugins/{folder.name}" for folder in PLUGINS} == set(re.findall(r"-e (plugins/\w+)", command))


def test_plugin_has_the_files_that_every_plugin_has(plugin: Path) -> None:
    source = plugin / "src" / _package(plugin)
    lines = (source / "plugin.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 40, "plugin.py holds hooks only"
    assert (source / "config.py").is_file()
    assert (source / "py.typed").is_file()
    assert "```yaml" in (plugin / "README.md").read_text(encoding="utf-8"), "the README shows a minimal config"
    assert list((plugin / "tests").glob("test_*.py"))


def test_plugin_declares_its_entry_point_and_bounds_core(plugin: Path) -> None:
    project = _project(plugin)["project"]
    short = plugin.name.replace("_", "-")
    assert project["name"] == f"agents-{short}"
    assert project["entry-points"]["agents.plugins"] == {short: f"{_package(plugin)}.plugin"}
    (core,) = [line for line in project["dependencies"] if line.startswith("agents-core")]
    assert "<" in core, "a plugin says up to which core it works"


def test_plugin_imports_no_private_name_of_core(plugin: Path) -> None:
    imported = [name for file in (plugin / "src").rglob("*.py") for name in imported_names(file)]
    assert any(name.startswith("agents_core.") for name in imported)
    assert [name for name in imported if name.startswith("agents_core.") and "._" in name] == []


def test_pins_name_no_place() -> None:
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = [line for line in pins if not line.startswith("#")]
    assert pinned
    assert all(re.fullmatch(r'[\w.-]+==[\w.]+( ; python_version >= "3\.\d+")?', line) for line in pinned)
