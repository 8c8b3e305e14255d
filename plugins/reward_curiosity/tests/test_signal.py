"""Curiosity pays for what is not foreseen, each transition for itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from agents_core.columns import Batch
from agents_core.contracts.environment import Actions
from agents_core.errors import UserError
from agents_core.experience.collector import TrajectoryCollector
from agents_core.learning.rollout import rollout_batch
from agents_core.schedules import Schedule
from agents_core.testing.ragged import CHOICES, Ragged
from agents_core.testing.states import difference
from agents_core.testing.transitions import make_batch
from agents_reward_curiosity.signal import CuriosityReward
from curiosity_cases import NETWORK, SPEC, make_signal


def around(place: float, rows: int = 64, seed: int = 0) -> Batch:
    """Transitions near a place; each of the three numbers moves by what the first continuous action says."""
    rng = np.random.default_rng(seed)
    seen = (place + rng.normal(size=(rows, 3)) / 10).astype(np.float32)
    action = rng.uniform(-1, 1, (rows, 2)).astype(np.float32)
    return make_batch(
        SPEC, rows, seed=seed, **{"obs.0": seen, "next_obs.0": seen + action[:, :1], "action.continuous": action}
    )


def train(signal: CuriosityReward, batch: Batch, updates: int) -> None:
    for _ in range(updates):
        signal.update(batch)


def test_nothing_is_paid_before_the_first_update() -> None:
    signal = make_signal()
    assert torch.equal(signal.evaluate(make_batch(SPEC)), torch.zeros(32))
    signal.update(make_batch(SPEC))
    assert (signal.evaluate(make_batch(SPEC)) > 0).all()


@pytest.mark.parametrize(
    ("strength", "highest"),
    [(Schedule(1000.0), 0.001), (Schedule(100.0, 0.0), 0.01), (Schedule(0.0, 500.0), 0.002), (Schedule(0.0), np.inf)],
)
def test_the_reward_is_at_most_1_after_strength(strength: Schedule, highest: float) -> None:
    signal = make_signal(strength=strength)
    signal.update(make_batch(SPEC))
    far = make_batch(SPEC, **{"next_obs.0": np.full((32, 3), 1e4, np.float32)})
    rewards = signal.evaluate(far)
    assert rewards.dtype == torch.float32
    if np.isfinite(highest):
        assert torch.equal(rewards, torch.full((32,), highest))
    else:
        assert rewards.min() > 0.1


def test_the_reward_falls_with_repeated_visits_and_is_high_for_what_is_new() -> None:
    signal = make_signal()
    familiar, new = around(0.0), around(1.5, seed=1)
    train(signal, familiar, 1)
    first = signal.evaluate(familiar).mean()
    train(signal, familiar, 400)
    half = signal.evaluate(familiar).mean()
    train(signal, familiar, 600)
    last = signal.evaluate(familiar).mean()
    assert last < half < first
    assert last < first / 10
    assert signal.evaluate(new).mean() > 3 * last


def test_agents_are_paired_with_their_own_next_observation_through_ends_and_arrivals() -> None:
    environment = Ragged(8)
    steps = environment.reset(seed=3)
    ((name, spec),) = environment.behavior_specs.items()
    collector = TrajectoryCollector(spec, 256, 16)
    rng = np.random.default_rng(0)
    collector.receive(steps.behaviors[name])
    while collector.rows < 256:
        rows = len(collector.decision) if collector.decision is not None else 0
        choices = np.array([rng.choice(np.flatnonzero(mask)) for mask in collector.decision.action_mask])
        actions = Actions(np.zeros((rows, 0), np.float32), choices[:, None])
        collector.record(actions)
        collector.receive(environment.step({name: actions}).behaviors[name])
    batch = rollout_batch(collector.take(), torch.device("cpu"))
    assert batch["terminated"].any()
    assert batch["truncated"].any()

    signal = make_signal(spec)
    train(signal, batch, 3)
    # The toy shows who is seen, in which episode, after how many decisions: the next one is always the same agent's.
    seen = batch["obs.0"]
    following = seen + torch.tensor([0.0, 0.0, 1.0])
    acted = {"action.discrete": batch["action.discrete"]}
    expected = make_batch(spec, len(batch), **{"obs.0": seen, "next_obs.0": following}, **acted)
    assert spec.action.discrete_branches == (CHOICES,)
    np.testing.assert_allclose(signal.evaluate(batch), signal.evaluate(expected), rtol=1e-5)


@pytest.mark.parametrize("crosses", [True, False])
def test_normalised_rewards_are_divided_by_the_deviation_of_their_return(crosses: bool) -> None:
    signal = make_signal(normalize=True, gamma=0.9, strength=0.0, ignores_termination=crosses)
    plain = make_signal(normalize=False, strength=0.0)
    row = np.arange(32)
    batch = make_batch(SPEC, terminated=row == 20, truncated=row < 0, episode_id=row // 21)
    signal.observe(batch)
    for own in (signal, plain):
        train(own, batch, 2)
    raw = plain.evaluate(batch)
    np.testing.assert_allclose(signal.evaluate(batch), raw, rtol=1e-5)
    signal.observe(batch)
    returns = [0.0]
    for place, reward in enumerate(raw.double().tolist()):
        returns.append(reward + 0.9 * (0 if place == 21 and not crosses else returns[-1]))
    np.testing.assert_allclose(signal.evaluate(batch), raw / np.float32(np.std(returns[1:])), rtol=1e-4, atol=0)


def test_observing_changes_nothing_but_normalisers() -> None:
    signal = make_signal(network={**NETWORK, "normalize": True})
    batch = make_batch(SPEC)
    signal.update(batch)
    before = signal.state_dict()
    signal.observe(batch)
    after = signal.state_dict()
    name = "encoder.normaliser._extra_state"
    (normaliser,) = after["model"].pop(name)
    assert normaliser["count"] == 32
    np.testing.assert_allclose(normaliser["mean"], batch["obs.0"].double().mean(dim=0), rtol=1e-6)
    before["model"].pop(name)
    assert difference(before, after) is None


def test_the_state_of_another_network_is_refused() -> None:
    wide = make_signal(model_units=32)
    with pytest.raises(UserError, match=r"'inverse_model\.0\.weight' has shape \(16, 16\) there and \(32, 16\) here"):
        wide.load_state_dict(make_signal().state_dict())
