"""Advantages by hand, and against a loop over each trajectory in float64."""

from __future__ import annotations

import numpy as np
import pytest
from agents_core.learning.returns import generalised_advantages, linear_recurrence


def advantages(
    rewards: list[float],
    values: list[float],
    lengths: list[int],
    final_values: list[float],
    terminated: list[bool],
    gamma: float,
    lambd: float,
) -> list[float]:
    arrays = (np.array(part, np.float32) for part in (rewards, values))
    result = generalised_advantages(
        *arrays, np.array(lengths), np.array(final_values, np.float32), np.array(terminated), gamma, lambd
    )
    return [pytest.approx(number, abs=1e-6) for number in result.tolist()]


def test_a_trajectory_by_hand() -> None:
    # δ = [1 + 0.5·4 - 2, 2 + 0.5·6 - 4, 3 + 0.5·8 - 6] = [1, 1, 1]; A = [1 + ¼(1 + ¼), 1 + ¼, 1]
    assert advantages([1, 2, 3], [2, 4, 6], [3], [8], [False], 0.5, 0.5) == [1.3125, 1.25, 1.0]


def test_termination_removes_what_follows() -> None:
    # The last δ = 3 - 6 = -3, whatever the final value.
    assert advantages([1, 2, 3], [2, 4, 6], [3], [8], [True], 0.5, 0.5) == [1 + 0.25 * (1 - 0.75), 1 - 0.75, -3.0]


def test_truncation_bootstraps_from_its_own_final_value() -> None:
    # Two episodes of one step each; what follows the first row is not the second row's value.
    assert advantages([1, 1], [5, 100], [1, 1], [10, 20], [False] * 2, 0.9, 1) == [1 + 0.9 * 10 - 5, 1 + 0.9 * 20 - 100]


def test_lambda_0_is_the_td_error_and_lambda_1_the_return() -> None:
    td = advantages([1, 1, 1], [3, 2, 1], [3], [0], [True], 0.9, 0)
    assert td == [1 + 1.8 - 3, 1 + 0.9 - 2, 0]
    monte_carlo = advantages([1, 1, 1], [3, 2, 1], [3], [0], [True], 0.9, 1)
    assert monte_carlo == [1 + 0.9 + 0.81 - 3, 1.9 - 2, 0]


def test_reward_1_and_gamma_09_through_a_time_limit_has_advantage_0_at_value_10() -> None:
    assert advantages([1] * 5, [10] * 5, [5], [10], [False], 0.9, 0.95) == [0.0] * 5


@pytest.mark.parametrize("seed", range(5))
def test_ragged_trajectories_equal_a_loop_over_each(seed: int) -> None:
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 40, generator.integers(1, 30))
    rows = int(lengths.sum())
    rewards, values = generator.normal(size=(2, rows)).astype(np.float32)
    final_values = generator.normal(size=len(lengths)).astype(np.float32)
    terminated = generator.random(len(lengths)) < 0.5

    expected, start = np.empty(rows), 0
    for length, final, ended in zip(lengths, final_values, terminated, strict=True):
        advantage, following = 0.0, 0.0 if ended else float(final)
        for row in reversed(range(start, start + length)):
            advantage = rewards[row] + 0.97 * following - float(values[row]) + 0.97 * 0.9 * advantage
            expected[row], following = advantage, float(values[row])
        start += length

    result = generalised_advantages(rewards, values, lengths, final_values, terminated, 0.97, 0.9)
    np.testing.assert_allclose(result, expected, atol=1e-5)


def test_a_recurrence_starts_from_what_was_before() -> None:
    result = linear_recurrence(np.array([1.0, 1, 5, 1, 1, 1]), np.array([2, 1, 3]), 0.5, np.array([4.0, 2, 0]))
    assert result.tolist() == [3, 2.5, 6, 1, 1.5, 1.75]


def test_no_rows_give_no_rows() -> None:
    nothing, none = np.empty(0), np.empty(0, np.int64)
    assert linear_recurrence(nothing, none, 0.5).shape == (0,)
