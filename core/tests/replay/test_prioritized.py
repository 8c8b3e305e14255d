"""Prioritised replay: probabilities and weights by the formulas of Schaul et al. 2016."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
import torch
from agents_core.contracts.buffer import BufferContext
from agents_core.errors import NonFiniteError, UserError
from agents_core.replay import free_memory
from agents_core.replay.buffer import ReplayBuffer
from agents_core.replay.config import PrioritizedReplayConfig
from agents_core.replay.layout import usual_fields
from agents_core.replay.linked_rows import least_bytes, ring_size
from agents_core.replay.prioritized import LEAST, PrioritizedReplayBuffer
from agents_core.replay.sum_tree import SumTree
from agents_core.schedules import Schedule
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_model import SMALL_SPEC, World, columns, make_buffer

RISING = Schedule(0.4, 1.0)


def make_prioritized(
    buffer_size: int, *, alpha: float = 0.6, beta: Schedule = RISING, max_steps: int = 100
) -> PrioritizedReplayBuffer:
    config = PrioritizedReplayConfig(buffer_size=buffer_size, alpha=alpha, beta=beta)
    return PrioritizedReplayBuffer(BufferContext("walker", config, SMALL_SPEC, torch.device("cpu"), 0, max_steps))


def fill(buffer: ReplayBuffer, count: int, world: World | None = None) -> None:
    world = world or World(SMALL_SPEC, masked=False)
    for _ in range(count):
        buffer.add(columns([world.act(0)]))


def set_errors(buffer: PrioritizedReplayBuffer, errors: np.ndarray) -> None:
    """Tell the errors of the oldest transitions."""
    buffer.sample(1, np.random.default_rng(0))
    buffer.update_priorities(
        torch.from_numpy(rows_of(buffer)[: len(errors)]), torch.from_numpy(errors.astype(np.float32))
    )


def rows_of(buffer: PrioritizedReplayBuffer) -> np.ndarray:
    """Row of each transition, the oldest first."""
    return np.array(buffer.stored) % ring_size(buffer.capacity)


def counts_of(buffer: PrioritizedReplayBuffer, batches: int = 400, size: int = 50) -> np.ndarray:
    """How often each transition was sampled, the oldest first."""
    rng = np.random.default_rng(11)
    rows = np.concatenate([buffer.sample(size, rng)["row"].numpy() for _ in range(batches)])
    counts = np.bincount(rows, minlength=ring_size(buffer.capacity))
    assert counts.sum() == counts[rows_of(buffer)].sum()
    return counts[rows_of(buffer)]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0, 1e6, width=32), min_size=1, max_size=700), st.integers(0, 2**32 - 1))
def test_tree_finds_the_index_in_whose_share_a_height_lies(weights: list[float], seed: int) -> None:
    weights[seed % len(weights)] += 1.0
    rng = np.random.default_rng(seed)
    tree = SumTree(len(weights))
    order = rng.permutation(len(weights))
    tree[order] = np.array(weights)[order]
    assert tree.total == pytest.approx(sum(weights))
    ends = np.cumsum(weights)
    heights = rng.random(64) * tree.total
    found = tree.find(heights)
    assert (np.array(weights)[found] > 0).all()
    slack = 1e-9 * tree.total
    assert (heights <= ends[found] + slack).all()
    assert (heights >= ends[found] - np.array(weights)[found] - slack).all()


def test_the_very_top_and_bottom_of_the_tree_have_weight() -> None:
    tree = SumTree(40)
    tree[np.arange(5, 21)] = np.linspace(0.1, 1.7, 16)
    assert tree.find(np.array([0.0, np.nextafter(tree.total, 0), tree.total])).tolist() == [5, 20, 20]


def test_probabilities_follow_the_errors_to_the_power_of_alpha() -> None:
    buffer = make_prioritized(30, alpha=0.7)
    fill(buffer, 30)
    errors = np.linspace(0.1, 4.0, 30)
    set_errors(buffer, errors)
    probabilities = (errors + LEAST) ** 0.7 / ((errors + LEAST) ** 0.7).sum()
    counts = counts_of(buffer)
    expected = probabilities * counts.sum()
    assert ((counts - expected) ** 2 / expected).sum() < 58.3  # Of 29 degrees of freedom 99.9 % lie below.
    assert counts[-1] / counts[0] == pytest.approx((4.0 / 0.1) ** 0.7, rel=0.2)


def test_weights_undo_the_preference_and_are_at_most_one() -> None:
    buffer = make_prioritized(30, beta=Schedule(0.5))
    fill(buffer, 30)
    errors = np.linspace(0.1, 4.0, 30)
    set_errors(buffer, errors)
    batch = buffer.sample(64, np.random.default_rng(1))
    probabilities = (errors + LEAST) ** 0.6 / ((errors + LEAST) ** 0.6).sum()
    weights = (30 * probabilities[batch["row"].numpy()]) ** -0.5
    np.testing.assert_allclose(batch["weight"].numpy(), weights / weights.max(), rtol=1e-5)
    assert batch["weight"].dtype == torch.float32


def test_beta_follows_its_schedule_over_the_transitions_added() -> None:
    buffer = make_prioritized(20, alpha=1.0, beta=Schedule(0.2, 1.0), max_steps=40)
    world = World(SMALL_SPEC, masked=False)
    for added, beta in ((20, 0.6), (40, 1.0)):
        fill(buffer, 20, world)
        set_errors(buffer, np.where(np.arange(20) < 10, 1.0, 4.0))
        batch = buffer.sample(200, np.random.default_rng(added))
        rare = batch["weight"][np.isin(batch["row"], rows_of(buffer)[10:])].unique().numpy()
        np.testing.assert_allclose(rare, (1.0 / 4.0) ** beta, rtol=1e-4)


def test_new_transitions_have_the_highest_priority_that_there_was() -> None:
    buffer = make_prioritized(21, alpha=1.0)
    world = World(SMALL_SPEC, masked=False)
    fill(buffer, 20, world)
    set_errors(buffer, np.full(20, 0.5))
    set_errors(buffer, np.array([8.0]))
    set_errors(buffer, np.array([0.5]))
    fill(buffer, 1, world)
    counts = counts_of(buffer)
    assert counts[20] / counts.sum() == pytest.approx(8.0 / 18.0, rel=0.03)


def test_errors_of_rows_that_hold_other_transitions_now_count_for_nobody() -> None:
    buffer = make_prioritized(10, alpha=1.0)
    world = World(SMALL_SPEC, masked=False)
    fill(buffer, 10, world)
    buffer.sample(1, np.random.default_rng(0))
    fill(buffer, 3, world)
    buffer.update_priorities(torch.arange(20), torch.full((20,), 1e-3))
    counts = counts_of(buffer)
    assert counts[7:].sum() / counts.sum() == pytest.approx(3 / 3.007, rel=0.01)


def test_an_error_that_is_not_finite_is_refused() -> None:
    buffer = make_prioritized(10)
    fill(buffer, 2)
    with pytest.raises(NonFiniteError):
        set_errors(buffer, np.array([1.0, np.nan]))


def test_sequences_start_by_priority_and_carry_the_weight_of_their_start() -> None:
    buffer = make_prioritized(30, alpha=1.0, beta=Schedule(1.0))
    fill(buffer, 30)
    set_errors(buffer, np.where(np.arange(30) == 7, 1000.0, 1.0))
    batch = buffer.sample_sequences(50, 4, np.random.default_rng(0))
    rows, weight = batch["row"].reshape(50, 4), batch["weight"].reshape(50, 4)
    assert (rows[:, 0] == 7).sum() > 40
    assert (rows[rows[:, 0] == 7] == torch.tensor([7, 8, 9, 10])).all()
    assert (weight == weight[:, :1]).all()


def test_priorities_survive_saving_and_sampling_goes_on_with_the_same_bits() -> None:
    world = World(SMALL_SPEC, masked=False)
    buffer = make_prioritized(30)
    fill(buffer, 44, world)
    set_errors(buffer, np.linspace(0.1, 4.0, 30))
    fill(buffer, 3, world)
    loaded = make_prioritized(30)
    loaded.load_state_dict(buffer.state_dict())
    for _ in range(3):
        transitions = columns([world.act(0)])
        batches = []
        for one in (buffer, loaded):
            one.add(transitions)
            batch = one.sample(16, np.random.default_rng(5))
            one.update_priorities(batch["row"], batch["reward"].abs())
            batches.append(batch)
        for name in batches[0]:
            assert torch.equal(batches[0][name], batches[1][name]), name


def test_what_a_buffer_without_priorities_saved_is_taken_over_as_new() -> None:
    world = World(SMALL_SPEC, masked=False)
    plain, loaded = make_buffer(30, SMALL_SPEC), make_prioritized(20)
    fill(plain, 44, world)
    fill(loaded, 3, world)
    loaded.load_state_dict(plain.state_dict())
    batch = loaded.sample(20, np.random.default_rng(0))
    assert len(set(batch["row"].tolist())) == 20, "each of the newest 20 has the same share"
    assert torch.equal(batch["weight"], torch.ones(20))
    fill(loaded, 5, world)
    assert len(loaded) == 20


def test_priorities_count_as_memory_that_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(make: Callable[[int], ReplayBuffer]) -> int:
        tracemalloc.start()
        try:
            _kept = make(20_000)
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    counted = ring_size(20_000) * PrioritizedReplayBuffer.BESIDE
    assert 0.9 * counted < taken(make_prioritized) - taken(lambda size: make_buffer(size, SMALL_SPEC)) < counted + 5000
    rows = least_bytes(20_000, usual_fields(SMALL_SPEC, 0).values())
    monkeypatch.setattr(free_memory, "free_memory", lambda: rows)
    make_buffer(20_000, SMALL_SPEC)
    with pytest.raises(UserError, match="buffer_size: 20000 transitions need"):
        make_prioritized(20_000)
