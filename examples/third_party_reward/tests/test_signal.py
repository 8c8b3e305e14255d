"""What is counted, and what it pays."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from agents_core.columns import Batch
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.contexts import signal_context
from agents_reward_novelty.config import NoveltyConfig
from agents_reward_novelty.signal import NoveltyReward


def novelty(size: int = 2, seed: int = 0, **options: Any) -> NoveltyReward:
    spec = BehaviorSpec((ObservationSpec("position", (size,)),), ActionSpec(discrete_branches=(2,)))
    return NoveltyReward(signal_context(NoveltyConfig(**options), spec, seed=seed))


def arrivals(*rows: tuple[float, ...]) -> Batch:
    """Transitions that end at these observations."""
    return Batch({"next_obs.0": torch.tensor(rows)}, len(rows))


def test_reward_is_one_by_the_root_of_the_visits() -> None:
    signal = novelty(bin_width=0.5)
    signal.observe(arrivals((0.1, 0.1), (0.2, 0.4), (0.4, 0.0), (0.1, 0.3), (0.6, 0.1)))
    paid = signal.evaluate(arrivals((0.3, 0.3), (0.9, 0.4), (-0.1, 0.0)))
    # Four in [0, ½)², one in [½, 1) × [0, ½), none beside zero.
    assert paid.tolist() == [0.5, 1.0, 1.0]
    assert paid.dtype == torch.float32


def test_reward_falls_with_every_visit() -> None:
    signal = novelty()
    here = arrivals((0.0, 0.0))
    paid = []
    for _ in range(4):
        signal.observe(here)
        paid += signal.evaluate(here).tolist()
    assert paid == pytest.approx([1.0, 2**-0.5, 3**-0.5, 0.5])


def test_looking_again_counts_nothing() -> None:
    signal = novelty()
    batch = arrivals((0.0, 0.0), (1.0, 1.0), (1.0, 1.0))
    signal.observe(batch)
    first = signal.evaluate(batch)
    for _ in range(10):
        signal.evaluate(batch)
        signal.update(batch)
    assert torch.equal(signal.evaluate(batch), first)


def test_a_grid_of_different_cells_meets_few_others() -> None:
    signal = novelty(bin_width=1.0)
    cells = arrivals(*((float(x), float(y)) for x in range(-20, 20) for y in range(-20, 20)))
    signal.observe(cells)
    # 1600 cells on 65536 counters: about 39 of them share one by chance.
    assert (signal.evaluate(cells) < 1).sum() < 100


def test_all_share_one_counter_where_there_is_only_one() -> None:
    signal = novelty(table_size=1)
    signal.observe(arrivals((0.0, 0.0), (9.0, 9.0), (-9.0, 3.0), (5.0, 5.0)))
    assert signal.evaluate(arrivals((100.0, 100.0))).tolist() == [0.5]


def test_another_signal_goes_on_from_its_state() -> None:
    signal, other = novelty(seed=1), novelty(seed=2)
    batch = arrivals((0.0, 0.0), (0.0, 0.0), (3.0, 1.0))
    signal.observe(batch)
    other.load_state_dict(signal.state_dict())
    signal.observe(batch)
    other.observe(batch)
    assert signal.evaluate(batch).tolist() == pytest.approx([0.5, 0.5, 0.5**0.5])
    assert torch.equal(other.evaluate(batch), signal.evaluate(batch))
