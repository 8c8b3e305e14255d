"""Buffers that ML-Agents 1.1.0 saved, with what it reads from them, where the checkout lies beside them.

They were made of recordings, and so hold neither `next_obs` nor `masks`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agents_core.cli.main import main
from agents_core.columns import Array
from agents_core.demonstrations import load_demonstrations, read_demonstrations
from click.testing import CliRunner

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "data" / "hdf5"
FILES = sorted(FOLDER.glob("*.hdf5")) if FOLDER.is_dir() else []

pytestmark = pytest.mark.skipif(not FILES, reason=f"there are no replay buffers in {FOLDER}")


def expected(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.with_name(f"{file.name}.expected.json").read_text(encoding="utf-8"))
    outcome: dict[str, Any] = found["load_from_file"]
    return outcome


def readable(outcome: str) -> list[Path]:
    return [file for file in FILES if expected(file)["outcome"] == outcome]


def by_stem(file: Path) -> str:
    return file.stem


@pytest.mark.parametrize("file", readable("ok"), ids=by_stem)
def test_the_numbers_are_those_that_ml_agents_reads(file: Path) -> None:
    truth, read = expected(file), read_demonstrations(file)
    fields = truth["fields"]
    assert read.summary is not None
    assert read.summary.records == truth["num_experiences"]
    assert read.summary.reward_sum == pytest.approx(fields["environment_rewards"]["sum"], abs=1e-6)
    columns = read.episodes.columns
    assert columns["terminated"].sum() == fields["done"]["sum"]
    for i, (spec, final) in enumerate(zip(read.spec.observations, read.episodes.final_observations, strict=True)):
        # The last observation of a piece is followed by nothing that the file knows; these buffers are one piece each.
        seen = np.concatenate([columns[f"obs.{i}"], final]).astype(np.float64)
        if spec.kind == "image":
            seen = np.moveaxis(seen / 255, -1, 1)
        check(seen, fields[f"obs:{i}"])
    assert columns["action.continuous"].shape[1] == fields["continuous_action"]["shape"][1]
    np.testing.assert_allclose(columns["action.continuous"][0], fields["continuous_action"]["first_first16"], rtol=1e-6)


def check(seen: Array, truth: dict[str, Any]) -> None:
    """Compare with sums over all rows, those of padding included, which are zeros."""
    rows, *shape = truth["shape"]
    assert list(seen.shape[1:]) == shape
    numbers = rows * int(np.prod(shape))
    assert seen.sum() == pytest.approx(truth["sum"], rel=1e-6)
    assert seen.sum() / numbers == pytest.approx(truth["mean"], rel=1e-6)
    assert np.sqrt((seen**2).sum() / numbers - truth["mean"] ** 2) == pytest.approx(truth["std"], rel=1e-6)
    np.testing.assert_allclose(seen[0].ravel()[:16], truth["first_first16"], rtol=1e-6)
    if len(seen) == rows:
        np.testing.assert_allclose(seen[-1].ravel()[:16], truth["last_first16"], rtol=1e-6)


def test_a_buffer_made_of_a_recording_holds_what_the_recording_holds() -> None:
    """The recording's last record ends the episode, so that the buffer's last row is followed by nothing."""
    (recording,) = (FOLDER.parent / "demos").glob("d07*.demo")
    (file,) = (file for file in FILES if file.stem.startswith("b02"))
    first = read_demonstrations(recording, options={"pairing": "ml-agents"}).episodes
    read = read_demonstrations(file, options={"branches": "2"})
    episodes = read.episodes
    assert episodes.lengths.tolist() == [len(first) - 1]
    for name in ("obs.0", "obs.1", "action.continuous", "action.discrete", "reward"):
        np.testing.assert_array_equal(episodes.columns[name], first.columns[name][:-1])
    np.testing.assert_array_equal(episodes.final_observations[0][0], first.columns["obs.0"][-1])
    assert "8 rows hold nothing but zeros" in read.warnings[0]


@pytest.mark.parametrize("file", readable("error"), ids=by_stem)
def test_damaged_files_are_refused_by_name(file: Path) -> None:
    result = CliRunner().invoke(main, ["demo", "info", str(file)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {file}: not a readable HDF5 demonstration: ")
    assert "truncated file: eof = 9000" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("file", readable("ok"), ids=by_stem)
def test_converted_buffers_are_read_again(tmp_path: Path, file: Path) -> None:
    result = CliRunner().invoke(main, ["demo", "convert", str(file), str(tmp_path / "out.h5")])
    assert result.exit_code == 0, result.stderr
    assert len(load_demonstrations(tmp_path / "out.h5")) == len(read_demonstrations(file))
