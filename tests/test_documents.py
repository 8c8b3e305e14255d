"""What README and docs tell people to type exists, and the experiment files they show load."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import agents_core
import click
import pytest
import yaml
from agents_core.cli.main import main
from agents_core.config import load_experiment
from agents_core.registry import load_registry

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("benchmarks/*.md")),
    ROOT / "core" / "README.md",
    *sorted(ROOT.glob("plugins/*/README.md")),
    *sorted(ROOT.glob("examples/*/README.md")),
]
GENERATED = ROOT / "docs" / "reference"
"""Pages of the site that no file holds; `mkdocs build --strict` knows which links lead there."""
LINK = re.compile(r"\]\((?!https?://|#)(?P<target>[^)#]+)")
FENCE = re.compile(r"^```(?P<language>\w+)(?: (?P<mark>\w+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block. Marked `run`, it is executed; otherwise its commands are parsed and its YAML is loaded.

    What is marked `tutorial` needs a project that the tutorial writes; `test_tutorial.py` executes it.
    """

    document: Path
    line: int
    language: str
    mark: str
    text: str

    def __str__(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"


def _blocks() -> Iterator[Block]:
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield Block(document, line, match["language"], match["mark"] or "", match["text"])


BLOCKS = list(_blocks())


def _commands(text: str) -> list[list[str]]:
    """The words of each command of a shell block; comments are dropped."""
    lines = text.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


COMMANDS = [
    pytest.param(words, id=f"{block} {' '.join(words)}")
    for block in BLOCKS
    if block.language == "sh" and block.mark != "tutorial"
    for words in _commands(block.text)
]


@pytest.mark.parametrize("words", COMMANDS)
def test_documented_command_exists(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    program = Path(words[0]).name
    if program == "agents":
        _parse(main, words[1:])
    elif program == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert set(words[1:]) <= set(targets)
    elif program.startswith("python") and words[1].endswith(".py"):
        assert Path(words[1]).is_file()


def _parse(command: click.Command, arguments: list[str]) -> None:
    """Let click check the arguments of a command line as far as it can without running it."""
    context = command.make_context(command.name or "agents", list(arguments))
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None
        command = found
        context = command.make_context(name or "", list(rest), parent=context)


EXPERIMENTS = [
    pytest.param(block, id=str(block))
    for block in BLOCKS
    if block.language == "yaml" and block.mark != "local" and "behaviors" in (yaml.safe_load(block.text) or {})
    if "examples" not in block.document.parts  # their own tests load them, where they are installed
]


@pytest.mark.parametrize("block", EXPERIMENTS)
def test_documented_experiment_loads(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(block.text, encoding="utf-8")
    load_experiment(file, load_registry())


RUNNABLE = [pytest.param(block, id=str(block)) for block in BLOCKS if block.mark == "run"]


@pytest.mark.slow
@pytest.mark.parametrize("block", RUNNABLE)
def test_documented_block_runs(block: Block, tmp_path: Path) -> None:
    """Blocks run in an empty folder that shows `configs/`, with the commands of this environment first on PATH."""
    (tmp_path / "configs").symlink_to(ROOT / "configs", target_is_directory=True)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, "-c", block.text] if block.language == "python" else ["bash", "-euc", block.text]
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"


@pytest.mark.slow
def test_the_documented_signal_trains_and_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = {block.mark: block.text for block in BLOCKS if block.document.name == "own-parts.md"}
    (tmp_path / "my_signal.py").write_text(blocks["file"], encoding="utf-8")
    (tmp_path / "experiment.yaml").write_text(blocks["local"], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    train = partial(agents_core.train, "experiment.yaml", run_id="run")
    train(overrides=["evaluation.interval=0"])
    train(overrides=["evaluation.interval=0", "behaviors.*.max_steps=6144"], resume=True)
    lines = [json.loads(line) for line in Path("results/run/metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    paid = [line["stats"]["reward/rare-action/raw"] for line in lines]
    assert 0 < paid[-1] < paid[0] < 2  # fewer and fewer, also after the resume


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_somewhere(document: Path) -> None:
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        place = document.parent / target
        assert place.exists() or GENERATED in place.resolve().parents, target


def test_there_is_something_to_check() -> None:
    assert COMMANDS
    assert EXPERIMENTS
    assert RUNNABLE
