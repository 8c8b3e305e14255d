"""RND pays for what was not seen often, each transition for itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from agents_core.columns import Batch
from agents_core.errors import UserError
from agents_core.testing.states import difference
from agents_core.testing.transitions import make_batch
from agents_reward_rnd.signal import RNDReward
from rnd_cases import SPEC, make_signal


def train(signal: RNDReward, batch: Batch, updates: int) -> None:
    for _ in range(updates):
        signal.update(batch)


def around(place: float, rows: int = 64, seed: int = 0) -> Batch:
    """Transitions that end near a place."""
    rng = np.random.default_rng(seed)
    seen = (place + rng.normal(size=(rows, 3)) / 10).astype(np.float32)
    return make_batch(SPEC, rows, seed=seed, **{"next_obs.0": seen})


def test_the_reward_falls_with_repeated_visits_and_is_high_for_what_is_new() -> None:
    signal = make_signal(normalize=False)
    familiar, new = around(0.0), around(0.4, seed=1)
    signal.observe(familiar)
    first = signal.evaluate(familiar).mean()
    train(signal, familiar, 200)
    half = signal.evaluate(familiar).mean()
    train(signal, familiar, 300)
    last = signal.evaluate(familiar).mean()
    assert last < half < first
    assert last < first / 10
    assert signal.evaluate(new).mean() > 5 * last


def test_what_was_seen_after_the_action_counts_and_nothing_else() -> None:
    signal = make_signal()
    batch = make_batch(SPEC)
    signal.observe(batch)
    rewards = signal.evaluate(batch)
    other = make_batch(SPEC, seed=1)
    there = make_batch(SPEC, seed=1, **{"next_obs.0": batch["next_obs.0"]})
    np.testing.assert_array_equal(signal.evaluate(there), rewards)
    assert not torch.equal(signal.evaluate(other), rewards)


def test_observing_changes_nothing_but_normalisers() -> None:
    signal = make_signal()
    batch = make_batch(SPEC)
    signal.update(batch)
    before = signal.state_dict()
    signal.observe(batch)
    after = signal.state_dict()
    assert after["scale"]["moments"]["count"] == 32
    for state in (before, after):
        state.pop("scale")
        state["model"].pop("normaliser._extra_state")
    assert difference(before, after) is None


def test_the_state_of_another_network_is_refused() -> None:
    wide = make_signal(features=5)
    with pytest.raises(UserError, match=r"'target\.1\.weight' has shape \(4, 8\) there and \(5, 8\) here"):
        wide.load_state_dict(make_signal().state_dict())
