"""Running normalisers: right, stable, and standing still while they are used."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from agents_core.networks.normaliser import LIMIT, RunningNormaliser

CPU = torch.device("cpu")


def normalised(normaliser: RunningNormaliser, rows: np.ndarray) -> np.ndarray:
    """By NumPy; torch must agree."""
    out = np.empty(rows.shape, np.float32)
    normaliser.normalise_into(rows, out)
    np.testing.assert_allclose(normaliser.normalise(torch.from_numpy(rows)).numpy(), out, atol=1e-6)
    return out


def filled(*batches: np.ndarray) -> RunningNormaliser:
    normaliser = RunningNormaliser(batches[0].shape[1], CPU)
    for batch in batches:
        normaliser.update(batch)
    return normaliser


def test_batches_of_any_size_give_the_moments_of_all_rows() -> None:
    rows = np.random.default_rng(0).normal([3, -2], [2, 0.5], (1000, 2))
    moments = filled(rows[:1], rows[1:17], rows[17:17], rows[17:]).moments
    assert moments.count == 1000
    np.testing.assert_allclose(moments.mean, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.m2 / 1000, rows.var(axis=0), rtol=1e-12)


def test_rows_come_out_with_mean_0_and_deviation_1() -> None:
    rows = np.random.default_rng(0).uniform(10, 12, (1000, 3)).astype(np.float32)
    out = normalised(filled(rows), rows)
    np.testing.assert_allclose(out.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(out.std(axis=0), 1, atol=1e-5)


@pytest.mark.parametrize("offset", [1e6, -1e9])
def test_values_far_from_zero_keep_their_spread(offset: float) -> None:
    rows = np.random.default_rng(0).normal(0, 1, (5000, 1))
    moved = filled(rows[:2000] + offset, rows[2000:] + offset)
    np.testing.assert_allclose(normalised(moved, rows + offset), normalised(filled(rows), rows), atol=1e-5)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 / 7, -3e8])
def test_a_constant_component_maps_to_0_and_stays_bounded_when_it_moves(value: float) -> None:
    constant = np.full((999, 1), value)
    normaliser = filled(constant[:100], constant[100:])
    assert not normalised(normaliser, constant).any()
    moved = np.full((1, 1), value + max(1.0, abs(value)))
    assert not normalised(normaliser, moved).any()
    normaliser.update(moved)
    assert 0 < normalised(normaliser, moved)[0, 0] <= LIMIT


def test_outliers_are_clipped() -> None:
    normaliser = filled(np.array([[-1.0], [1.0]]))
    assert normalised(normaliser, np.array([[1e30], [-1e30]])).ravel().tolist() == [LIMIT, -LIMIT]


def test_before_the_first_rows_values_are_only_clipped() -> None:
    assert normalised(RunningNormaliser(1, CPU), np.array([[0.25], [9.0]])).ravel().tolist() == [0.25, LIMIT]


def test_using_it_changes_nothing() -> None:
    normaliser = filled(np.array([[1.0], [2.0], [4.0]]))
    before = normaliser.state_dict()
    normalised(normaliser, np.array([[100.0]]))
    assert {key: np.array_equal(value, before[key]) for key, value in normaliser.state_dict().items()} == dict.fromkeys(
        before, True
    )


def test_state_continues_where_it_was_taken() -> None:
    rows = np.random.default_rng(0).normal(size=(30, 2))
    copy = RunningNormaliser(2, CPU)
    copy.load_state_dict(filled(rows[:10]).state_dict())
    copy.update(rows[10:])
    np.testing.assert_array_equal(normalised(copy, rows), normalised(filled(rows[:10], rows[10:]), rows))


def test_statistics_keep_working_after_very_many_steps() -> None:
    normaliser = filled(np.array([[-1.0], [1.0]]))
    normaliser.moments.count, normaliser.moments.m2 = 10**15, np.array([1e15])
    normaliser.update(np.array([[3.0]]))
    assert normaliser.moments.count == 10**15 + 1
    assert normalised(normaliser, np.array([[2.0]]))[0, 0] == pytest.approx(2, rel=1e-5)
