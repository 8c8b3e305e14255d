"""Rollouts on the device, and minibatches that leave nothing out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from agents_core.columns import Columns
from agents_core.learning.gradient import even_slices
from agents_core.learning.rollout import extend_batch, mean_stats, minibatches, rollout_batch
from agents_core.trajectory import Trajectories

CPU = torch.device("cpu")


def trajectories() -> Trajectories:
    observation = np.arange(10, dtype=np.float32).reshape(5, 2)
    columns = Columns({"obs.0": observation, "reward": np.arange(5, dtype=np.float32)})
    return Trajectories(columns, np.array([2, 3]), (np.array([[90, 91], [92, 93]], np.float32),))


def test_next_observations_end_with_the_final_ones() -> None:
    batch = rollout_batch(trajectories(), CPU)
    assert batch.next_observations[0].tolist() == [[2, 3], [90, 91], [6, 7], [8, 9], [92, 93]]


def test_fields_share_memory_with_the_trajectories() -> None:
    source = trajectories()
    rollout_batch(source, CPU)["reward"][0] = 77
    assert source.columns["reward"][0] == 77


def test_an_extended_batch_has_both_kinds_of_fields() -> None:
    batch = extend_batch(rollout_batch(trajectories(), CPU), {"advantage": np.array([1.0, 2, 3, 4, 5])}, CPU)
    taken = batch.take(torch.tensor([4, 0]))
    assert taken["advantage"].tolist() == [5, 1]
    assert taken["advantage"].dtype == torch.float32
    assert taken["reward"].tolist() == [4, 0]
    assert taken.next_observations[0].tolist() == [[92, 93], [2, 3]]


@pytest.mark.parametrize(("rows", "sizes"), [(8, [4, 4]), (9, [5, 4]), (11, [4, 4, 3]), (3, [3]), (1, [1])])
def test_minibatches_hold_every_row_once_and_are_of_almost_one_size(rows: int, sizes: list[int]) -> None:
    batches = list(minibatches(rows, 4, np.random.default_rng(0)))
    assert [len(batch) for batch in batches] == sizes
    assert sorted(np.concatenate(batches).tolist()) == list(range(rows))


def test_the_order_is_the_generator_s() -> None:
    generator = np.random.default_rng(0)
    first, second = (np.concatenate(list(minibatches(100, 10, generator))) for _ in range(2))
    again = np.concatenate(list(minibatches(100, 10, np.random.default_rng(0))))
    assert first.tolist() == again.tolist()
    assert first.tolist() != second.tolist()


def test_a_statistic_is_averaged_over_those_that_have_it() -> None:
    assert mean_stats([{"a": 1.0}, {"a": 3.0, "b": 5.0}, {}]) == {"a": 2.0, "b": 5.0}


@pytest.mark.parametrize(("rows", "sizes"), [(0, [0]), (3, [3]), (9, [4, 5]), (12, [4, 4, 4])])
def test_slices_cover_all_rows_evenly(rows: int, sizes: list[int]) -> None:
    slices = even_slices(rows, 4)
    assert [part.stop - part.start for part in slices] == sizes
    assert [row for part in slices for row in range(rows)[part]] == list(range(rows))
