"""Timers: nesting, gauges, worker numbers and the layout of timers.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agents_core.timers import Timers


class Clock:
    """Time that moves only when a test says so."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds

    def wait(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def timers(clock: Clock) -> Timers:
    return Timers(now=clock)


def tree(timers: Timers) -> Any:
    """What timers.json holds, as its reader sees it."""
    return json.loads(json.dumps(timers.to_dict()))


def test_nested_blocks_are_counted_under_the_block_around_them(timers: Timers, clock: Clock) -> None:
    for _ in range(3):
        with timers.time("collect"):
            clock.wait(1)
            with timers.time("act"):
                clock.wait(2)
    with timers.time("update"):
        clock.wait(5)
    clock.wait(10)
    assert timers.total("collect") == 9
    assert timers.total("collect/act") == 6
    root = tree(timers)
    assert (root["name"], root["total"], root["self"], root["count"]) == ("root", 24, 10, 1)
    assert root["children"] == {
        "collect": {
            "total": 9,
            "count": 3,
            "self": 3,
            "children": {"act": {"total": 6, "count": 3, "self": 6}},
        },
        "update": {"total": 5, "count": 1, "self": 5},
    }


def test_one_name_under_two_parents_is_two_blocks(timers: Timers, clock: Clock) -> None:
    with timers.time("train"), timers.time("step"):
        clock.wait(1)
    with timers.time("evaluate"), timers.time("step"):
        clock.wait(2)
    assert (timers.total("train/step"), timers.total("evaluate/step"), timers.total("step")) == (1, 2, 0)


def test_a_block_within_its_own_name_is_its_child(timers: Timers, clock: Clock) -> None:
    with timers.time("merge"):
        clock.wait(1)
        with timers.time("merge"):
            clock.wait(2)
    assert timers.total("merge") == 3
    assert timers.total("merge/merge") == 2


def test_an_exception_closes_the_blocks_it_leaves(timers: Timers, clock: Clock) -> None:
    def fail() -> None:
        clock.wait(1)
        raise KeyError

    with pytest.raises(KeyError), timers.time("a"), timers.time("b"):
        fail()
    with timers.time("c"):
        clock.wait(2)
    assert {name: node["total"] for name, node in tree(timers)["children"].items()} == {"a": 1, "c": 2}


def test_open_blocks_count_up_to_now(timers: Timers, clock: Clock) -> None:
    with timers.time("run"):
        clock.wait(4)
        assert timers.total("run") == 4
        assert tree(timers)["children"]["run"] == {"total": 4, "count": 1, "self": 4}
        clock.wait(1)
    assert timers.total("run") == 5


def test_a_place_that_was_never_timed_took_no_time(timers: Timers) -> None:
    assert timers.total("nothing/here") == 0
    assert "children" not in tree(timers)


@pytest.mark.parametrize("name", ["", "a/b"])
def test_names_that_cannot_be_looked_up_are_refused(timers: Timers, name: str) -> None:
    with pytest.raises(ValueError, match="neither empty nor contain '/'"):
        timers.time(name)


def test_gauges_keep_last_smallest_largest_mean_and_count(timers: Timers) -> None:
    for value in (2.0, -1.0, 5.0):
        timers.gauge("Walker.Reward.mean", value)
    assert tree(timers)["gauges"] == {"Walker.Reward.mean": {"value": 5, "min": -1, "max": 5, "count": 3, "mean": 2}}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_gauge_refuses_what_json_cannot_hold(timers: Timers, value: float) -> None:
    with pytest.raises(ValueError, match=r"'loss' was given (nan|inf)"):
        timers.gauge("loss", value)


def test_worker_numbers_are_parallel_children_and_replace_earlier_ones(timers: Timers, clock: Clock) -> None:
    with timers.time("environment"):
        clock.wait(3)
    timers.merge("environment", {"step": {"total": 4.0, "count": 10}})
    timers.merge("environment", {"step": {"total": 8.0, "count": 20}, "reset": {"total": 1.0, "count": 2}})
    node = tree(timers)["children"]["environment"]
    assert node["children"]["step"] == {"total": 8, "count": 20, "is_parallel": True, "self": 8}
    assert node["children"]["reset"]["count"] == 2
    assert node["self"] == 0, "two workers at once may take more time than passed here"
    assert timers.total("environment/step") == 8


def test_worker_numbers_may_come_for_a_place_not_timed_here(timers: Timers) -> None:
    timers.merge("evaluation/environment", {"step": {"total": 1.0, "count": 1}})
    assert timers.total("evaluation/environment/step") == 1


def test_metadata_is_text_and_takes_the_callers(timers: Timers) -> None:
    metadata = timers.to_dict({"pytorch_version": "2.4"})["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["timer_format_version"] == "0.1.0"
    assert metadata["pytorch_version"] == "2.4"
    assert {"start_time_seconds", "end_time_seconds", "python_version", "command_line_arguments"} <= metadata.keys()
    assert all(isinstance(text, str) for text in metadata.values())
    assert int(metadata["start_time_seconds"]) <= int(metadata["end_time_seconds"])


def test_saving_replaces_the_file_and_leaves_nothing_else(timers: Timers, clock: Clock, tmp_path: Path) -> None:
    path = tmp_path / "timers.json"
    path.write_text("old", encoding="utf-8")
    with timers.time("collect"):
        clock.wait(1)
    timers.save(path, {"numpy_version": "1.26"})
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert saved["children"]["collect"]["total"] == 1
    assert saved["metadata"]["numpy_version"] == "1.26"
    assert [file.name for file in tmp_path.iterdir()] == ["timers.json"]
