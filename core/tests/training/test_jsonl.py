"""metrics.jsonl: whole lines, exact numbers, nothing beyond the step a run resumes from."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from agents_core.contracts.stats import StatsWriterContext
from agents_core.training.jsonl import JsonlWriter
from agents_core.training.stats_config import JsonlConfig
from hypothesis import given
from hypothesis import strategies as st


def open_writer(directory: Path, resumed_at: Mapping[str, int] | None = None) -> JsonlWriter:
    return JsonlWriter(StatsWriterContext(JsonlConfig(), directory, {"*": 1000}, resumed_at or {}, quiet=False))


def lines(directory: Path) -> list[Any]:
    text = (directory / "metrics.jsonl").read_text(encoding="ascii")
    return [json.loads(line) for line in text.splitlines()]


def steps(directory: Path) -> list[tuple[str, int]]:
    return [(line["behavior"], line["step"]) for line in lines(directory)]


def test_each_summary_is_a_line_that_can_be_read_at_once(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    writer.write("Läufer?team=1", 5000, 1.25, {"rollout/mean_return": 3.5, "env/größe": 1.0})
    assert lines(tmp_path) == [
        {
            "step": 5000,
            "wall_time": 1.25,
            "behavior": "Läufer?team=1",
            "stats": {"rollout/mean_return": 3.5, "env/größe": 1.0},
        }
    ]
    writer.write("Läufer?team=1", 10000, 2.5, {})
    assert [line["step"] for line in lines(tmp_path)] == [5000, 10000]
    writer.close()
    writer.close()


@given(number=st.floats(allow_nan=False, allow_infinity=False), wall_time=st.floats(0, 1e9))
def test_numbers_read_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, number: float, wall_time: float
) -> None:
    directory = tmp_path_factory.mktemp("run")
    writer = open_writer(directory)
    writer.write("a", 1, wall_time, {"x": number})
    writer.close()
    line = lines(directory)[0]
    assert repr(line["stats"]["x"]) == repr(number)
    assert line["wall_time"] == wall_time


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_are_refused_by_name(tmp_path: Path, value: float) -> None:
    writer = open_writer(tmp_path)
    with pytest.raises(ValueError, match=r"train/entropy of behavior 'a' at step 7 is -?(nan|inf)"):
        writer.write("a", 7, 1.0, {"train/policy_loss": 1.0, "train/entropy": value})
    writer.close()
    assert lines(tmp_path) == []


def test_a_resume_drops_lines_beyond_the_step_of_each_behavior(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    for step in (100, 200, 300):
        writer.write("a", step, 1.0, {"x": step})
        writer.write("b", step, 1.0, {"x": step})
        writer.write("late", step, 1.0, {"x": step})
    writer.close()
    before = (tmp_path / "metrics.jsonl").read_bytes().splitlines()
    writer = open_writer(tmp_path, {"a": 200, "b": 150})
    assert steps(tmp_path) == [("a", 100), ("b", 100), ("a", 200)], "`late` had no checkpoint: it starts anew"
    assert (tmp_path / "metrics.jsonl").read_bytes().splitlines() == [before[0], before[1], before[3]]
    writer.write("b", 200, 2.0, {})
    writer.close()
    assert steps(tmp_path)[-1] == ("b", 200)
    assert [file.name for file in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_a_new_run_starts_with_an_empty_file(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    writer.write("a", 100, 1.0, {})
    writer.close()
    open_writer(tmp_path).close()
    assert lines(tmp_path) == []


@pytest.mark.parametrize(
    "torn",
    [b'{"step": 200, "wall_time": 1.0, "beha', b'{"step": 200, "behavior": "a"}', b"\0\0\0\0", b"\xff\xfe"],
)
def test_a_torn_last_line_goes_and_the_next_starts_afresh(
    tmp_path: Path, torn: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    writer = open_writer(tmp_path)
    writer.write("a", 100, 1.0, {})
    writer.close()
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(torn)
    with caplog.at_level(logging.WARNING):
        writer = open_writer(tmp_path, {"a": 1000})
    writer.write("a", 300, 2.0, {})
    writer.close()
    assert steps(tmp_path) == [("a", 100), ("a", 300)]
    assert "metrics.jsonl: dropped what could not be read: line 2" in caplog.text


@pytest.mark.parametrize("damaged", ["[]", "7", '{"step": "x", "behavior": "a"}', "{}", "not json"])
def test_damaged_lines_in_the_middle_never_stop_a_resume(tmp_path: Path, damaged: str) -> None:
    writer = open_writer(tmp_path)
    writer.write("a", 100, 1.0, {})
    writer.close()
    path = tmp_path / "metrics.jsonl"
    path.write_text(damaged + "\n" + path.read_text(encoding="ascii"), encoding="ascii")
    open_writer(tmp_path, {"a": 100}).close()
    assert steps(tmp_path) == [("a", 100)]
