"""`agents new`: what it is told, what it refuses, and that its files suit the tools that look after them."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agents_core import __version__
from agents_core.cli.main import main
from agents_core.cli.project import KINDS
from click.testing import CliRunner, Result

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def new(kind: str, name: str, output: Path) -> Result:
    return CliRunner().invoke(main, ["new", kind, name, "--output", str(output)])


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    ("kind", "name", "distribution", "component"),
    [
        ("trainer", "reinforce", "agents-reinforce", "reinforce"),
        ("reward-signal", "My_Signal", "agents-reward-my-signal", "my-signal"),
        ("reward_signal", "agents-reward-novelty", "agents-reward-novelty", "novelty"),
        ("buffer", "agents_buffer_ring", "agents-buffer-ring", "ring"),
        ("stats-writer", "csv", "agents-stats-csv", "csv"),
        ("Environment", "catch.2", "agents-env-catch-2", "catch-2"),
        ("encoder", "fourier", "agents-encoder-fourier", "fourier"),
    ],
)
def test_names_are_normalised(kind: str, name: str, distribution: str, component: str, tmp_path: Path) -> None:
    result = new(kind, name, tmp_path)
    assert result.exit_code == 0, result.output
    project = tomllib.loads((tmp_path / distribution / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == distribution
    package = distribution.replace("-", "_")
    assert project["entry-points"]["agents.plugins"] == {distribution.removeprefix("agents-"): f"{package}.plugin"}
    hooks = (tmp_path / distribution / "src" / package / "plugin.py").read_text(encoding="utf-8")
    assert f'name="{component}"' in hooks


@pytest.mark.parametrize("kind", KINDS)
def test_project_has_everything_and_no_placeholder(kind: str, tmp_path: Path) -> None:
    assert new(kind, "sample", tmp_path).exit_code == 0
    (project,) = tmp_path.iterdir()
    files = contents(project)
    package = project.name.replace("-", "_")
    common = ["pyproject.toml", "README.md", "LICENSE", ".gitignore", "experiment.yaml", "tests/test_conformance.py"]
    common += [f".github/workflows/{name}.yml" for name in ("ci", "publish")]
    common += [f"src/{package}/{name}" for name in ("__init__.py", "py.typed", "plugin.py", "config.py")]
    assert set(common) < set(files)
    workflow = files.pop(".github/workflows/ci.yml")
    assert "${{ matrix.python }}" in workflow
    assert [name for name, text in files.items() if "$" in text.replace('+$"', "")] == []
    assert files["experiment.yaml"] in files["README.md"]
    assert len(files[f"src/{package}/plugin.py"].splitlines()) < 40


def test_requirement_on_core_ends_before_the_next_version_that_may_break_it(tmp_path: Path) -> None:
    new("reward-signal", "sample", tmp_path)
    project = (tmp_path / "agents-reward-sample" / "pyproject.toml").read_text(encoding="utf-8")
    assert __version__.startswith("0.1.")
    assert '"agents-core>=0.1,<0.2",' in project


@pytest.mark.parametrize("name", ["x", "sample-2nd", "a" * 15 + "-" + "b" * 14], ids=["short", "usual", "long"])
def test_linters_find_nothing_whatever_the_name(name: str, tmp_path: Path) -> None:
    for kind in KINDS:
        assert new(kind, name, tmp_path).exit_code == 0
    for command in (["format", "--check"], ["check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("signal", "x", "there is no template for a 'signal'. Did you mean 'reward-signal'? Kinds: trainer,"),
        ("trainer", "PPO", "agents-ppo is a distribution of agents itself; choose another NAME"),
        ("trainer", "core", "agents-core is a distribution of agents itself"),
        ("reward-signal", "extrinsic", "the reward signal 'extrinsic' is core's own"),
        ("encoder", "nature_cnn", "the encoder 'nature-cnn' is core's own"),
        ("buffer", "9 lives!", "'9 lives!' cannot name a component: use at most 30 letters"),
        ("buffer", "../up", "such as 'up'"),
        ("buffer", "größe", "cannot name a component"),
        ("buffer", "", "cannot name a component"),
        ("buffer", "a" * 31, "cannot name a component"),
        ("buffer", "-x", "such as 'x'"),
    ],
)
def test_bad_words_are_refused_with_a_way_out(kind: str, name: str, message: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["new", "--output", str(tmp_path), "--", kind, name])
    assert result.exit_code == 2
    assert message in result.output
    assert list(tmp_path.iterdir()) == []


def test_nothing_that_exists_is_touched(tmp_path: Path) -> None:
    folder = tmp_path / "agents-reward-sample"
    folder.mkdir()
    (folder / "README.md").write_text("mine", encoding="utf-8")
    result = new("reward-signal", "sample", tmp_path)
    assert result.exit_code == 2
    assert f"{folder} exists already" in result.output
    assert contents(folder) == {"README.md": "mine"}


def test_a_place_that_cannot_be_written_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = new("reward-signal", "sample", tmp_path / "file" / "below")
    assert result.exit_code == 2
    assert "cannot be written" in result.output


@pytest.mark.parametrize("name", ["null", "True"])
def test_a_name_that_experiment_files_read_as_something_else_is_refused(tmp_path: Path, name: str) -> None:
    result = new("trainer", name, tmp_path)
    assert result.exit_code == 2
    assert f"is no name in an experiment file but {name.lower()}" in result.output
    assert not list(tmp_path.iterdir())


def test_a_project_that_could_not_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def full(path: Path, *arguments: Any, **options: Any) -> Any:
        if tmp_path in path.parents and path.parent.name == "tests":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", full)
    result = new("trainer", "sample", tmp_path)
    assert result.exit_code == 2
    assert "No space left on device" in result.output
    assert not list(tmp_path.iterdir())
