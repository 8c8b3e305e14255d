"""Every row comes equally often, in an order that only the sampler's own seed decides."""

from __future__ import annotations

import numpy as np
from agents_core.demonstrations import DemonstrationSampler


def sampler(*lengths: int, seed: int = 0) -> DemonstrationSampler:
    return DemonstrationSampler(np.array(lengths, np.int64), np.random.SeedSequence(seed))


def test_a_minibatch_larger_than_the_demonstration_repeats_all_rows_equally() -> None:
    rows = sampler(3, 2).sample(20)
    assert np.bincount(rows).tolist() == [4] * 5


def test_no_row_comes_twice_before_all_came_once() -> None:
    drawn = sampler(4, 6)
    rows = np.concatenate([drawn.sample(3) for _ in range(10)])
    assert np.array_equal(np.sort(rows.reshape(3, 10), axis=1), np.tile(np.arange(10), (3, 1)))
    assert not np.array_equal(rows[:10], rows[10:20])


def test_an_epoch_holds_every_row_once_in_even_parts() -> None:
    parts = list(sampler(10, 7).epoch(5))
    assert [len(part) for part in parts] == [6, 6, 5]
    assert np.sort(np.concatenate(parts)).tolist() == list(range(17))
    assert [len(part) for part in sampler(2).epoch(64)] == [2]


def test_sequences_stay_within_their_episode() -> None:
    lengths = (3, 1, 5)
    rows, valid = sampler(*lengths).sequences(200, 4)
    episode = np.repeat(np.arange(3), lengths)
    ends = np.cumsum(lengths) - 1
    assert (episode[rows] == episode[rows[:, :1]]).all()
    np.testing.assert_array_equal(np.diff(rows, axis=1), valid[:, 1:])
    np.testing.assert_array_equal(valid.sum(axis=1), np.minimum(ends[episode[rows[:, 0]]] - rows[:, 0] + 1, 4))
    assert set(rows[:, 0].tolist()) == set(range(9))


def test_a_restored_sampler_goes_on_with_the_same_rows() -> None:
    drawn, restored = sampler(5, 6), sampler(5, 6, seed=9)
    drawn.sample(4)
    restored.load_state_dict(drawn.state_dict())
    assert np.array_equal(drawn.sample(30), restored.sample(30))
    assert np.array_equal(drawn.sequences(5, 2)[0], restored.sequences(5, 2)[0])
