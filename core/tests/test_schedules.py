"""Values that change over a run."""

from __future__ import annotations

import pytest
from agents_core.schedules import Schedule


def test_a_constant_never_changes() -> None:
    schedule = Schedule(0.3)
    assert [schedule.value(step, 100) for step in (0, 50, 100, 500)] == [0.3] * 4


@pytest.mark.parametrize(
    ("schedule", "values"),
    [
        (Schedule(1.0, 0.0), [1.0, 0.75, 0.5, 0.0, 0.0]),
        (Schedule(1.0, 0.0, floor=0.6), [1.0, 0.75, 0.6, 0.6, 0.6]),
        (Schedule(0.0, 2.0), [0.0, 0.5, 1.0, 2.0, 2.0]),
        (Schedule(0.1, floor=0.2), [0.2] * 5),
    ],
)
def test_a_linear_one_moves_to_its_final_value_and_stays_there(schedule: Schedule, values: list[float]) -> None:
    assert [schedule.value(step, 200) for step in (0, 50, 100, 200, 1000)] == pytest.approx(values)


def test_a_run_without_steps_is_at_its_end_after_the_first() -> None:
    assert Schedule(1.0, 0.5).value(0, 0) == 1.0
    assert Schedule(1.0, 0.5).value(1, 0) == 0.5


@pytest.mark.parametrize(
    ("schedule", "is_zero"),
    [
        (Schedule(0.0), True),
        (Schedule(0.0, 0.0), True),
        (Schedule(0.0, floor=0.0), True),
        (Schedule(0.0, 1.0), False),
        (Schedule(1.0, 0.0), False),
        (Schedule(0.0, floor=0.1), False),
    ],
)
def test_zero_is_what_is_never_anything_else(schedule: Schedule, is_zero: bool) -> None:
    assert schedule.is_zero is is_zero
