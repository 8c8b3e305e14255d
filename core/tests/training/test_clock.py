"""RunClock: all seconds of a run, and those spent working."""

from __future__ import annotations

import pytest
from agents_core.training.clock import RunClock


class Time:
    def __init__(self) -> None:
        self.seconds = 50.0

    def __call__(self) -> float:
        return self.seconds


def test_only_work_counts_as_work() -> None:
    time = Time()
    clock = RunClock(time)
    time.seconds += 1  # start-up
    with clock.working():
        time.seconds += 2
        assert clock.working_seconds == 2
    time.seconds += 4  # evaluation
    assert clock.working_seconds == 2
    with clock.working():
        time.seconds += 8
    time.seconds += 16
    assert (clock.wall_seconds, clock.working_seconds) == (31, 10)


def test_an_exception_ends_work() -> None:
    time = Time()
    clock = RunClock(time)

    def interrupt() -> None:
        time.seconds += 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), clock.working():
        interrupt()
    time.seconds += 1
    assert clock.working_seconds == 1


def test_a_resumed_run_goes_on_counting_without_the_time_between() -> None:
    time = Time()
    first = RunClock(time)
    with first.working():
        time.seconds += 5
    time.seconds += 1
    state = first.state_dict()
    time.seconds += 1000
    second = RunClock(time)
    second.load_state_dict(state)
    with second.working():
        time.seconds += 2
    assert (second.wall_seconds, second.working_seconds) == (8, 7)
