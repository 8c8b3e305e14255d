"""What `agents new` writes is complete: it builds, installs, passes its own tests and type checks, and trains."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from agents_core.cli.project import KINDS, Project
from wheel_environment import ROOT, WheelEnvironment, build_wheels

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PROJECTS = {kind: Project(kind, "sample") for kind in KINDS}


@pytest.fixture(scope="module")
def projects(
    wheel_environment: WheelEnvironment, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Path]]:
    """One project of each kind, installed from its wheel, beside the trainer that takes buffers."""
    folder = tmp_path_factory.mktemp("projects")
    for kind in KINDS:
        wheel_environment.run("agents", "new", kind, "sample", "--output", folder)
    written = {kind: folder / project.distribution for kind, project in PROJECTS.items()}
    sources = [ROOT / "plugins" / "sac", *written.values()]
    wheel_environment.install(*build_wheels(sources, tmp_path_factory.mktemp("wheels")))
    yield written
    wheel_environment.uninstall("agents-sac", *(folder.name for folder in written.values()))


def test_wheels_hold_plugins_that_are_in_order(
    wheel_environment: WheelEnvironment, projects: dict[str, Path], tmp_path: Path
) -> None:
    for folder in projects.values():
        assert (folder / ".github" / "workflows" / "ci.yml").is_file(), "core's wheel holds all templates"
        assert (folder / ".gitignore").is_file()
    listed = wheel_environment.run("agents", "plugins", "list", "--strict-plugins", cwd=tmp_path).stdout
    for project in PROJECTS.values():
        assert f"{project.distribution} 0.1.0" in listed


def test_projects_are_typed(wheel_environment: WheelEnvironment, projects: dict[str, Path]) -> None:
    sources = [folder / "src" / PROJECTS[kind].distribution.replace("-", "_") for kind, folder in projects.items()]
    # What mypy found out of torch and NumPy is kept beside what it keeps of the checkout: it takes a while.
    options = ["--strict", "--python-executable", wheel_environment.python, "--cache-dir", ROOT / ".mypy_cache" / "new"]
    wheel_environment.run("python", "-m", "mypy", *options, *sources)


def test_projects_pass_their_own_tests(wheel_environment: WheelEnvironment, projects: dict[str, Path]) -> None:
    # In one process, which imports torch once; modules of one name need `importlib` for that.
    above = projects["trainer"].parent
    options = ["-p", "no:cacheprovider", "--import-mode=importlib", "--rootdir", above]
    folders = [folder / "tests" for folder in projects.values()]
    done = wheel_environment.run("python", "-m", "pytest", *options, *folders, cwd=above)
    for project in PROJECTS.values():
        assert f"{project.distribution}/tests/test_conformance.py" in done.stdout


TRAIN = """
import sys
from agents_core.cli.main import main
options = ["--max-steps", "1024", "--set", "evaluation.interval=0", "--quiet"]
for kind, experiment in zip(sys.argv[1::2], sys.argv[2::2]):
    main(["run", experiment, "--run-id", kind, *options], standalone_mode=False)
"""


def test_projects_experiments_train(
    wheel_environment: WheelEnvironment, projects: dict[str, Path], tmp_path: Path
) -> None:
    experiments = [word for kind, folder in projects.items() for word in (kind, str(folder / "experiment.yaml"))]
    wheel_environment.run("python", "-c", TRAIN, *experiments, cwd=tmp_path)
    for kind in KINDS:
        run = tmp_path / "results" / kind
        assert json.loads((run / "summary.json").read_text(encoding="utf-8"))["status"] == "finished"
        assert PROJECTS[kind].distribution in (run / "run.json").read_text(encoding="utf-8")
    assert (tmp_path / "results" / "stats-writer" / "metrics.csv").is_file()
