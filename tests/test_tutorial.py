"""Every file and command of the tutorial for authors, in its order, in an environment of wheels."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from wheel_environment import ROOT, WheelEnvironment

TUTORIAL = ROOT / "docs" / "authors" / "tutorial.md"
PIECE = re.compile(
    r"^`(?P<path>[\w./-]+)`:\n\n(?P<fence>`{3,})\w+(?: \w+)?\n(?P<text>.*?)^(?P=fence)$"
    r"|^```sh tutorial\n(?P<commands>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# Programs that an environment of one's own has; pip without the network.
PIP = """#!/bin/sh
case "$1" in
    install) without="--no-deps" ;;
    *) without="--quiet" ;;
esac
exec {here} -m pip --python {there} "$@" --quiet --no-index --no-build-isolation $without
"""
PYTEST = """#!/bin/sh
exec {there} -m pytest "$@"
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_tutorial_ends_with_a_published_signal(wheel_environment: WheelEnvironment, tmp_path: Path) -> None:
    for name, script in (("pip", PIP), ("pytest", PYTEST)):
        program = wheel_environment.programs / name
        program.write_text(script.format(here=sys.executable, there=wheel_environment.python), encoding="utf-8")
        program.chmod(0o755)
    pieces = list(PIECE.finditer(TUTORIAL.read_text(encoding="utf-8")))
    assert sum(piece["commands"] is not None for piece in pieces) == 4
    folder = tmp_path
    for piece in pieces:
        if piece["commands"]:
            # The next block goes on in the folder that this one leaves.
            done = wheel_environment.run_shell(piece["commands"] + "\npwd", cwd=folder)
            folder = Path(done.stdout.splitlines()[-1])
        else:
            (folder / piece["path"]).write_text(piece["text"], encoding="utf-8")

    results = folder / "results"
    last = json.loads((results / "still" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])["stats"]
    patient = last["reward/stillness/raw"]
    last = json.loads((results / "impatient" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])["stats"]
    assert 0 < last["reward/stillness/raw"] < patient < 1
    assert last["reward/stillness/scaled"] == pytest.approx(0.1 * last["reward/stillness/raw"])
    assert list((folder / "dist").glob("*.whl"))
    wheel_environment.uninstall("agents-reward-stillness")
