"""RND pays for what was not seen often, each transition for itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from agents_core.columns import Batch
from agents_core.errors import UserError
from rnd_cases import ACTIONS, OBSERVATIONS, make_batch, make_signal, make_spec, train

SPEC = make_spec()


def around(place: float, rows: int = 64, seed: int = 0) -> Batch:
    """Transitions that end near a place."""
    rng = np.random.default_rng(seed)
    return make_batch(SPEC, rows, seed, **{"next_obs.0": (place + rng.normal(size=(rows, 3)) / 10).astype(np.float32)})


def test_the_reward_falls_with_repeated_visits_and_is_high_for_what_is_new() -> None:
    signal = make_signal(SPEC, normalize=False)
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
    signal = make_signal(SPEC)
    batch = make_batch(SPEC)
    signal.observe(batch)
    rewards = signal.evaluate(batch)
    other = make_batch(SPEC, seed=1)
    fields = {name: other[name] for name in other} | {"next_obs.0": batch["next_obs.0"]}
    np.testing.assert_array_equal(signal.evaluate(Batch(fields, 32)), rewards)
    assert not torch.equal(signal.evaluate(other), rewards)


def test_each_row_is_paid_for_itself() -> None:
    signal = make_signal(SPEC)
    batch = make_batch(SPEC)
    signal.observe(batch)
    train(signal, batch, 3)
    rewards = signal.evaluate(batch)
    assert rewards.dtype == torch.float32
    alone = torch.cat([signal.evaluate(batch.take(torch.tensor([row]))) for row in range(32)])
    np.testing.assert_allclose(alone, rewards, rtol=1e-5)


def test_a_single_row_is_enough() -> None:
    signal = make_signal(SPEC)
    for row in range(3):
        batch = make_batch(SPEC, 1, seed=row)
        signal.observe(batch)
        assert torch.isfinite(signal.evaluate(batch)).all()
        assert np.isfinite(signal.update(batch)["loss"])


def test_evaluating_changes_nothing_and_observing_only_normalisers() -> None:
    signal = make_signal(SPEC)
    batch = make_batch(SPEC)
    signal.update(batch)
    before = signal.state_dict()
    signal.evaluate(batch)
    assert _equal(signal.state_dict(), before)
    signal.observe(batch)
    after = signal.state_dict()
    assert after["scale"]["moments"]["count"] == 32
    for state in (before, after):
        state.pop("scale")
        state["model"].pop("normaliser._extra_state")
    assert _equal(after, before)


@pytest.mark.parametrize("actions", ACTIONS)
@pytest.mark.parametrize("observations", OBSERVATIONS)
def test_every_kind_of_observation_and_action_is_learned_from_and_continues_from_its_state(
    observations: str, actions: str
) -> None:
    spec = make_spec(observations, actions)
    signal, other = make_signal(spec, 1), make_signal(spec, 2)
    batch, later = make_batch(spec, seed=1), make_batch(spec, seed=2)
    for _ in range(2):
        signal.observe(batch)
        signal.update(batch)
    state = signal.state_dict()
    assert not torch.equal(other.evaluate(later), signal.evaluate(later))
    train(signal, later, 2)
    signal.observe(later)
    other.load_state_dict(state)
    train(other, later, 2)
    other.observe(later)
    assert torch.isfinite(signal.evaluate(batch)).all()
    assert torch.equal(other.evaluate(batch), signal.evaluate(batch))
    assert _equal(other.state_dict(), signal.state_dict())


def test_a_seed_repeats_and_another_differs() -> None:
    states = [make_signal(SPEC, seed).state_dict()["model"] for seed in (1, 1, 2)]
    assert _equal(states[0], states[1])
    assert not _equal(states[0], states[2])


def test_the_state_of_another_network_is_refused() -> None:
    wide = make_signal(SPEC, features=5)
    with pytest.raises(UserError, match=r"'target\.1\.weight' has shape \(4, 8\) there and \(5, 8\) here"):
        wide.load_state_dict(make_signal(SPEC).state_dict())


def _equal(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(np.array_equal(np.asarray(one), np.asarray(other)))
