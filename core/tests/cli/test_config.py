"""`agents config`: files are checked, shown and written from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from agents_core.cli.main import main
from agents_core.config import load_experiment
from agents_core.config.document import plain
from agents_core.config.reader import read_text
from agents_core.registry import load_registry
from agents_core.testing.installed import install_plugin
from click.testing import CliRunner, Result

HOOKS = """
    @hookimpl
    def agents_trainers():
        return [
            TrainerSpec(name="walker", summary="Walks", config="agents_walk.config:Walker",
                        factory="agents_walk.parts:make", quickstart="agents_walk:quickstart.yaml"),
            TrainerSpec(name="runner", summary="Runs", config="agents_walk.config:Walker",
                        factory="agents_walk.parts:make"),
            TrainerSpec(name="reader", summary="Reads", config="agents_walk.config:Reader",
                        factory="agents_walk.parts:make", offline=True),
        ]

    @hookimpl
    def agents_environments():
        return [EnvironmentSpec(name="park", summary="A park", config="agents_walk.config:Park",
                                factory="agents_walk.parts:make", id_field="id")]
"""
CONFIG = """
    from agents_core.options import ConfigModel, DataPath, PositiveSchedule
    from agents_core.schedules import Schedule
    from pydantic import Field

    class Walker(ConfigModel):
        pace: PositiveSchedule = Field(default=Schedule(0.5), description="How fast.")
        legs: int = Field(default=2, ge=1, le=8, description="How many.")

    class Reader(ConfigModel):
        demo_path: DataPath = Field(default="expert.demo", description="What to read.", validate_default=True)

    class Park(ConfigModel):
        id: str = Field(description="Which one.")
"""
QUICKSTART = """\
environment: {type: park, id: central}
behaviors: {"*": {trainer: {type: walker, pace: {initial: 1.5}}}}
"""
FILE = """\
environment: {type: park, id: central}
behaviors:
  "*":
    max_steps: 1e6
    trainer: {type: walker}
"""


@pytest.fixture(autouse=True)
def _walk(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"config.py": CONFIG, "parts.py": "def make(context): ...", "quickstart.yaml": QUICKSTART}
    install_plugin(site, "agents-walk", HOOKS, files=files)
    monkeypatch.setenv("AGENTS_LOAD_PLUGINS", "walk")
    monkeypatch.chdir(tmp_path)
    Path("experiment.yaml").write_text(FILE, encoding="utf-8")


def agents(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["config", *arguments])


def document(result: Result) -> Any:
    return json.loads(result.stdout)


def test_a_valid_file_is_said_to_be_valid() -> None:
    result = agents("validate", "experiment.yaml")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "experiment.yaml is valid: environment park; behavior * with trainer walker and reward extrinsic\n"
    )


def test_every_mistake_is_a_line_on_stderr_and_the_exit_code_is_2() -> None:
    Path("experiment.yaml").write_text(FILE + "sed: 1\n", encoding="utf-8")
    result = agents("validate", "experiment.yaml", "--set", "behaviors.*.trainer.legs=9")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        "experiment.yaml:6:1: sed: unknown key; allowed keys: behaviors, checkpoints, directory, environment, "
        "evaluation, plugins, requires, seed, stats, torch; did you mean 'seed'?",
        "--set behaviors.*.trainer.legs=9: behaviors.*.trainer.legs: found 9, expected a whole number from 1 to 8 "
        "(trainer 'walker' of agents-walk 0.3)",
    ]


def test_mistakes_are_one_document_on_request() -> None:
    Path("experiment.yaml").write_text(FILE + "seed: -1\n", encoding="utf-8")
    result = agents("validate", "experiment.yaml", "--json")
    assert result.exit_code == 2
    found = document(result)
    assert found["valid"] is False
    assert found["mistakes"] == [
        {
            "source": "experiment.yaml",
            "line": 6,
            "column": 7,
            "key": ["seed"],
            "message": "found -1, expected a whole number from 0 to 9_223_372_036_854_775_807",
        }
    ]


def test_data_files_that_are_not_there_are_warned_about(tmp_path: Path) -> None:
    Path("experiment.yaml").write_text('behaviors: {"*": {trainer: {type: reader}}}\n', encoding="utf-8")
    result = agents("validate", "experiment.yaml")
    assert result.exit_code == 0
    assert result.stderr == (
        "Warning: experiment.yaml:1:19: behaviors.*.trainer.demo_path: no such file or folder: "
        f"{tmp_path / 'expert.demo'} (trainer 'reader' of agents-walk 0.3)\n"
    )
    assert len(document(agents("validate", "experiment.yaml", "--json"))["warnings"]) == 1
    Path("expert.demo").touch()
    assert agents("validate", "experiment.yaml").stderr == ""


def test_plugin_and_env_are_checked_without_a_file() -> None:
    result = agents("validate", "--plugin", "walker")
    assert result.stdout.startswith("The experiment is valid: environment park")
    assert agents("validate", "--plugin", "runner", "--env", "park:hyde").exit_code == 0
    assert agents("validate", "--plugin", "runner").exit_code == 2
    assert agents("validate").exit_code == 2


def test_a_plugin_can_be_left_out() -> None:
    result = agents("validate", "experiment.yaml", "--without", "walk")
    assert result.exit_code == 2
    assert "environment.type: " in result.stderr
    assert "agents-walk 0.3 (blocked)" in result.stderr


def test_show_names_the_origin_of_what_is_set() -> None:
    result = agents("show", "experiment.yaml", "--set", "seed=3")
    assert result.stdout.splitlines() == [
        "seed: 3  # --set seed=3",
        "environment:",
        "  type: park  # experiment.yaml:1",
        "  id: central  # experiment.yaml:1",
        "behaviors:",
        '  "*":',
        "    max_steps: 1000000  # experiment.yaml:4",
        "    trainer:",
        "      type: walker  # experiment.yaml:5",
    ]


def test_show_resolved_has_every_default_and_loads_as_the_same_experiment() -> None:
    result = agents("show", "experiment.yaml", "--resolved", "--plugin", "walker", "--env", "park:hyde")
    assert "  id: hyde  # --env park:hyde" in result.stdout
    assert "      legs: 2  # default" in result.stdout
    assert "  keep: 5  # default" in result.stdout
    registry = load_registry()
    shown = plain(read_text(result.stdout, "shown"))
    assert isinstance(shown, dict)
    expected = load_experiment(Path("experiment.yaml"), registry, environment="park:hyde")
    assert load_experiment(shown, registry) == expected


def test_show_as_a_document_has_values_and_origins() -> None:
    shown = document(agents("show", "experiment.yaml", "--resolved", "--json"))
    assert shown["experiment"]["behaviors"]["*"]["max_steps"] == 1_000_000
    assert shown["origins"]["behaviors"]["*"]["max_steps"] == "experiment.yaml:4"
    assert shown["origins"]["checkpoints"]["keep"] == "default"


def test_schema_is_one_document_that_the_file_passes() -> None:
    schema = document(agents("schema"))
    jsonschema.Draft202012Validator(schema).validate(plain(read_text(FILE, "f")))
    assert "trainer.agents-walk:walker" in schema["$defs"]


@pytest.mark.parametrize(
    ("trainer", "pace"), [("walker", 1.5), ("runner", 0.5), (None, 1.5), ("agents-walk:walker", 1.5)]
)
def test_init_writes_a_commented_experiment_that_is_valid_and_passes_the_schema(
    trainer: str | None, pace: float
) -> None:
    result = agents("init", *([trainer] if trainer else []))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "# yaml-language-server: $schema=agents.schema.json"
    assert any(line.startswith("      legs: 2  # How many (a whole number from 1 to 8)") for line in lines)
    Path("new.yaml").write_text(result.stdout, encoding="utf-8")
    experiment = load_experiment(Path("new.yaml"), load_registry())
    config: Any = experiment.behavior("x").trainer.config
    assert config.pace.initial == pace
    schema = document(agents("schema"))
    jsonschema.Draft202012Validator(schema).validate(plain(read_text(result.stdout, "new")))


def test_init_of_something_else_than_a_trainer_is_refused() -> None:
    assert "an experiment is made for a trainer" in agents("init", "extrinsic").stderr
    unknown = agents("init", "walkr")
    assert unknown.exit_code == 2
    assert "Did you mean 'walker'" in unknown.stderr


PROBE = """
import sys
from agents_core.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert end.code in (0, None), end.code
heavy = ["torch", "gymnasium", "grpc", "tensorboard", "numpy"]
print("imported:", [name for name in heavy if name in sys.modules])
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["config", "validate", "experiment.yaml"],
        ["config", "validate", "--plugin", "walker"],
        ["config", "show", "experiment.yaml", "--resolved"],
        ["config", "schema"],
        ["config", "init", "walker"],
    ],
)
def test_nothing_heavy_is_imported(arguments: list[str], site: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(site)!r}); sys.argv[1:] = {arguments!r}\n" + PROBE
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["imported: []"], done.stderr
