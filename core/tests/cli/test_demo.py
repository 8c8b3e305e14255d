"""`agents demo` says what a demonstration holds, and converts it without ever losing a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agents_core.cli.main import main
from agents_core.demonstrations import load_demonstrations, store_demonstration
from agents_core.testing.demonstrations import differing_columns, random_demonstration, with_columns
from click.testing import CliRunner, Result


@pytest.fixture(autouse=True)
def _expert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reward = np.array([1, 2, 3, 4, 5, 6], np.float32)
    store_demonstration("expert.h5", with_columns(random_demonstration(masked=True), {"reward": reward}))


def demo(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["demo", *arguments])


def test_info_is_one_document_on_request() -> None:
    result = demo("info", "expert.h5", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found: dict[str, Any] = json.loads(result.stdout)
    assert found == {
        "behavior": "random",
        "records": 6,
        "transitions": 6,
        "episodes": 3,
        "observations": [
            {"name": "position", "shape": [3], "dtype": "float32", "kind": "vector"},
            {"name": "camera", "shape": [4, 5, 3], "dtype": "uint8", "kind": "image"},
        ],
        "continuous_size": 2,
        "discrete_branches": [3, 2],
        "reward_sum": 21.0,
        "returns": [6.0, 4.0, 11.0],
        "lengths": [3, 1, 2],
        "pairing": None,
        "warnings": [],
    }


def test_info_is_lines_for_people() -> None:
    assert demo("info", "expert.h5").stdout.splitlines() == [
        "behavior      random",
        "transitions   6",
        "episodes      3: 2 terminated, 1 truncated",
        "length        1 to 3, mean 2.0",
        "return        4 to 11, mean 7",
        "observations  position float32[3]; camera uint8[4, 5, 3] (image)",
        "actions       2 continuous actions, branches (3, 2), some of them masked",
    ]


def test_a_converted_file_holds_the_same_and_is_not_overwritten() -> None:
    result = demo("convert", "expert.h5", "copy.hdf5")
    assert (result.exit_code, result.stdout) == (0, "copy.hdf5: 6 transitions in 3 episodes\n")
    assert differing_columns(load_demonstrations("expert.h5"), load_demonstrations("copy.hdf5")) == []
    before = Path("copy.hdf5").read_bytes()
    refused = demo("convert", "expert.h5", "copy.hdf5")
    assert refused.exit_code == 2
    assert refused.stderr == (
        "Error: copy.hdf5: it is there already; --force replaces it, --append adds to it, or choose another name\n"
    )
    assert Path("copy.hdf5").read_bytes() == before
    assert demo("convert", "expert.h5", "copy.hdf5", "--append").exit_code == 0
    assert json.loads(demo("info", "copy.hdf5", "--json").stdout)["episodes"] == 6
    assert demo("convert", "expert.h5", "copy.hdf5", "--force").exit_code == 0
    assert json.loads(demo("info", "copy.hdf5", "--json").stdout)["episodes"] == 3


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["info", "gone.h5"], "Error: gone.h5: there is no such file or folder"),
        (["info", "notes.txt"], "Error: notes.txt: no installed plugin knows demonstrations that end in '.txt'"),
        (["info", "broken.h5"], "Error: broken.h5: not a readable HDF5 demonstration: "),
        (["convert", "expert.h5", "copy.xyz"], "Error: copy.xyz: no installed plugin knows demonstrations that end in"),
        (["convert", "broken.h5", "copy.h5"], "Error: broken.h5: not a readable HDF5 demonstration: "),
        (["info", "expert.h5", "--option", "colour=red"], "Error: demonstrations have no option 'colour' here"),
        (["convert", "expert.h5", "expert.h5/copy.h5"], "Error: expert.h5/copy.h5: cannot be written: "),
    ],
)
def test_what_cannot_be_done_is_said_and_leaves_nothing(arguments: list[str], reason: str) -> None:
    Path("notes.txt").touch()
    Path("broken.h5").write_bytes(Path("expert.h5").read_bytes()[:1000])
    before = sorted(path.name for path in Path().iterdir())
    result = demo(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(reason)
    assert sorted(path.name for path in Path().iterdir()) == before


def test_an_option_without_value_is_a_usage_error() -> None:
    result = demo("info", "expert.h5", "--option", "pairing")
    assert (result.exit_code, "expected KEY=VALUE" in result.stderr) == (2, True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("suffix", [".h5", ".demo"])
def test_a_pipe_is_refused_instead_of_waited_for(suffix: str) -> None:
    os.mkfifo(f"pipe{suffix}")
    result = demo("info", f"pipe{suffix}")
    assert (result.exit_code, result.stderr) == (2, f"Error: pipe{suffix}: is neither a file nor a folder\n")
