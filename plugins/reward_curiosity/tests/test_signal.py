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
from curiosity_cases import ACTIONS, CPU, OBSERVATIONS, make_batch, make_signal, make_spec, train

SPEC = make_spec()


def around(place: float, rows: int = 64, seed: int = 0) -> Batch:
    """Transitions near a place; each of the three numbers moves by what the first continuous action says."""
    rng = np.random.default_rng(seed)
    seen = (place + rng.normal(size=(rows, 3)) / 10).astype(np.float32)
    action = rng.uniform(-1, 1, (rows, 2)).astype(np.float32)
    return make_batch(
        SPEC, rows, seed, **{"obs.0": seen, "next_obs.0": seen + action[:, :1], "action.continuous": action}
    )


def test_nothing_is_paid_before_the_first_update() -> None:
    signal = make_signal(SPEC)
    assert torch.equal(signal.evaluate(make_batch(SPEC)), torch.zeros(32))
    signal.update(make_batch(SPEC))
    assert (signal.evaluate(make_batch(SPEC)) > 0).all()


@pytest.mark.parametrize(
    ("strength", "highest"),
    [(Schedule(1000.0), 0.001), (Schedule(100.0, 0.0), 0.01), (Schedule(0.0, 500.0), 0.002), (Schedule(0.0), np.inf)],
)
def test_the_reward_is_at_most_1_after_strength(strength: Schedule, highest: float) -> None:
    signal = make_signal(SPEC, strength=strength)
    signal.update(make_batch(SPEC))
    far = make_batch(SPEC, **{"next_obs.0": np.full((32, 3), 1e4, np.float32)})
    rewards = signal.evaluate(far)
    assert rewards.dtype == torch.float32
    if np.isfinite(highest):
        assert torch.equal(rewards, torch.full((32,), highest))
    else:
        assert rewards.min() > 0.1


def test_the_reward_falls_with_repeated_visits_and_is_high_for_what_is_new() -> None:
    signal = make_signal(SPEC)
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


def test_each_row_is_paid_for_itself() -> None:
    signal = make_signal(SPEC)
    batch = make_batch(SPEC)
    train(signal, batch, 3)
    rewards = signal.evaluate(batch)
    order = torch.randperm(32, generator=torch.Generator().manual_seed(1))
    np.testing.assert_allclose(signal.evaluate(batch.take(order)), rewards[order], rtol=1e-5)
    alone = torch.cat([signal.evaluate(batch.take(torch.tensor([row]))) for row in range(32)])
    np.testing.assert_allclose(alone, rewards, rtol=1e-5)


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
    batch = rollout_batch(collector.take(), CPU)
    assert batch["terminated"].any()
    assert batch["truncated"].any()

    signal = make_signal(spec)
    train(signal, batch, 3)
    # The toy shows who is seen, in which episode, after how many decisions: the next one is always the same agent's.
    seen = batch["obs.0"]
    following = seen + torch.tensor([0.0, 0.0, 1.0])
    expected = make_batch(spec, len(batch), **{"obs.0": seen, "next_obs.0": following})
    fields = {name: expected[name] for name in expected} | {
        "action.continuous": batch["action.continuous"],
        "action.discrete": batch["action.discrete"],
    }
    assert spec.action.discrete_branches == (CHOICES,)
    np.testing.assert_allclose(signal.evaluate(batch), signal.evaluate(Batch(fields, len(batch))), rtol=1e-5)


@pytest.mark.parametrize("crosses", [True, False])
def test_normalised_rewards_are_divided_by_the_deviation_of_their_return(crosses: bool) -> None:
    signal = make_signal(SPEC, normalize=True, gamma=0.9, strength=0.0, ignores_termination=crosses)
    plain = make_signal(SPEC, normalize=False, strength=0.0)
    ends = np.arange(32) // 4 == 3
    episodes = np.arange(32) % 4 + 4 * (np.arange(32) // 4 > 3)
    batch = make_batch(SPEC, terminated=ends, episode_id=episodes)
    signal.observe(batch)
    for own in (signal, plain):
        train(own, batch, 2)
    raw = plain.evaluate(batch)
    np.testing.assert_allclose(signal.evaluate(batch), raw, rtol=1e-5)
    signal.observe(batch.take(torch.arange(32)))
    running, returns = np.zeros(4), []
    for row, reward in enumerate(raw.double().tolist()):
        running[row % 4] = reward + 0.9 * running[row % 4]
        returns.append(running[row % 4])
        if ends[row] and not crosses:
            running[row % 4] = 0
    np.testing.assert_allclose(signal.evaluate(batch), raw / np.float32(np.std(returns)), rtol=1e-4, atol=0)


def test_evaluating_changes_nothing_and_observing_only_normalisers() -> None:
    signal = make_signal(SPEC, network={"hidden_units": 8, "num_layers": 1, "normalize": True})
    batch = make_batch(SPEC)
    signal.update(batch)
    before = signal.state_dict()
    signal.evaluate(batch)
    assert _equal(signal.state_dict(), before)
    signal.observe(batch)
    after = signal.state_dict()
    (normaliser,) = after["model"].pop("encoder.normaliser._extra_state")
    assert normaliser["count"] == 32
    np.testing.assert_allclose(normaliser["mean"], batch["obs.0"].double().mean(dim=0), rtol=1e-6)
    before["model"].pop("encoder.normaliser._extra_state")
    assert _equal(after, before)


@pytest.mark.parametrize("actions", ACTIONS)
@pytest.mark.parametrize("observations", OBSERVATIONS)
def test_every_kind_of_observation_and_action_is_learned_from_and_continues_from_its_state(
    observations: str, actions: str
) -> None:
    spec = make_spec(observations, actions)
    options = {"normalize": True, "network": {"hidden_units": 8, "num_layers": 1, "normalize": True}}
    signal, other = make_signal(spec, 1, **options), make_signal(spec, 2, **options)
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
    wide = make_signal(SPEC, model_units=32)
    with pytest.raises(UserError, match=r"'inverse_model\.0\.weight' has shape \(16, 16\) there and \(32, 16\) here"):
        wide.load_state_dict(make_signal(SPEC).state_dict())


def _equal(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(np.array_equal(np.asarray(one), np.asarray(other)))
