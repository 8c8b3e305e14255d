"""What is no whole replay buffer is refused with one message that names the file and what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from agents_core.cli.main import main
from buffer_files import save, steps
from click.testing import CliRunner


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"done": None}, "without 'done'; there are continuous_action, environment_rewards, masks, next_obs:0, obs:0"),
        ({"environment_rewards": None}, "without 'environment_rewards'"),
        ({"obs:0": None}, "without 'obs:0'"),
        ({"obs:2": [[1]] * 4, "next_obs:2": [[1]] * 4}, "without 'obs:1'"),
        ({"obs:1": [[1]] * 4}, "without 'next_obs:1'"),
        ({"continuous_action": None}, "neither a continuous_action nor a discrete_action"),
        ({"environment_rewards": [1, 2, 3]}, "environment_rewards has 3 rows, done has 4"),
        ({"obs:0": [[0]] * 5}, "obs:0 has 5 rows, done has 4"),
        ({"continuous_action": [[0]] * 3}, "continuous_action has 3 rows, done has 4"),
        ({"masks": [1] * 3}, "masks has 3 rows, done has 4"),
        ({"done": [[0]] * 4}, "done has rows of shape [1], expected []"),
        ({"continuous_action": [0] * 4}, "continuous_action has rows of shape [], expected one dimension"),
        ({"next_obs:0": [[0, 0]] * 4}, "next_obs:0 has rows of shape [2], obs:0 of [1]"),
        ({"obs:0": [0] * 4, "next_obs:0": [0] * 4}, "obs:0 has rows of shape []; one to three"),
        ({"obs:0": [[0], [1], [np.nan], [3]]}, "obs:0 is not finite at row 2"),
        ({"next_obs:0": [[1], [2], [3], [np.inf]]}, "next_obs:0 is not finite at row 3"),
        ({"environment_rewards": [np.nan, 0, 0, 0]}, "environment_rewards is not finite at row 0"),
        ({"continuous_action": [[0], [0], [np.nan], [0]]}, "continuous_action is not finite at row 2"),
        ({"discrete_action": [[0], [1.5], [0], [0]]}, "discrete_action holds [1.5] at row 1, which is no choice"),
        ({"discrete_action": [[0], [1], [-1], [0]]}, "discrete_action holds [-1.0] at row 2, which is no choice"),
        ({"masks": [0] * 4}, "it holds no transition"),
        ({name: np.empty((0, 1)) for name in ("obs:0", "next_obs:0", "continuous_action")}, "has 0 rows, done has 4"),
    ],
)
def test_what_is_no_whole_buffer_is_refused_by_name(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    fields = {name: values for name, values in (steps() | changes).items() if values is not None}
    path = save(tmp_path / "last_replay_buffer.hdf5", {n: v for n, v in fields.items() if np.size(v)})
    _add_empty(path, [name for name, values in fields.items() if not np.size(values)])
    result = CliRunner().invoke(main, ["demo", "info", str(path)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {path}: ")
    assert reason in result.stderr
    assert result.stderr.count("\n") == 1


def _add_empty(path: Path, names: list[str]) -> None:
    with h5py.File(path, "r+") as file:
        for name in names:
            file.create_dataset(name, shape=(0, 1), dtype="f")


def test_a_cut_file_is_refused_at_every_length(tmp_path: Path) -> None:
    path = save(tmp_path / "whole.hdf5", steps())
    whole = path.read_bytes()
    for length in range(0, len(whole), 211):
        path.write_bytes(whole[:length])
        result = CliRunner().invoke(main, ["demo", "info", str(path)])
        assert result.exit_code == 2, result.output
        assert result.stderr.startswith(f"Error: {path}: not a readable HDF5 demonstration: ")
        assert result.stderr.count("\n") == 1
