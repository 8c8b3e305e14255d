"""Networks with memory see a sequence of the buffer as the agent saw its episode."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from agents_core.columns import Batch
from agents_core.contracts.environment import Environment
from agents_core.options import MemoryConfig, NetworkConfig
from agents_core.testing.driver import Driver
from agents_core.testing.probes import TimeLimit
from agents_core.testing.ragged import Ragged
from agents_core.testing.toys import MaskedHybrid
from agents_sac.sampling import SequenceSampler
from agents_sac.trainer import SACTrainer
from agents_sac.views import SequenceViews
from sac_cases import make_trainer, replay

LENGTH, BURN_IN = 4, 2


def filled(environment: Environment, kind: str = "lstm") -> SACTrainer:
    """A trainer that acted for a while and did not learn, so that what was remembered can be recomputed."""
    environment.reset(seed=0)
    (spec,) = environment.behavior_specs.values()
    memory = MemoryConfig.model_validate({"type": kind, "size": 6, "sequence_length": LENGTH, "burn_in": BURN_IN})
    network = NetworkConfig(hidden_units=8, num_layers=1, activation="relu", memory=memory)
    trainer = make_trainer(spec, network, make_buffer=replay(spec, 400), steps_per_update=1e9)
    noise = torch.Generator().manual_seed(3)
    for flat in (trainer._networks.actor.flat, trainer._networks.critics.flat):
        flat.values += 0.2 * torch.randn(flat.values.shape, generator=noise)
    trainer._networks.follow(0.7)
    Driver(environment, trainer).advance(600)
    return trainer


def a_batch(trainer: SACTrainer) -> Batch:
    assert trainer.buffer is not None
    return trainer.buffer.sample_sequences(40, BURN_IN + LENGTH, np.random.default_rng(1))


def views_of(trainer: SACTrainer, batch: Batch) -> SequenceViews:
    return SequenceViews(trainer._networks, batch, BURN_IN + LENGTH, BURN_IN)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("environment", [TimeLimit(3), MaskedHybrid(5), Ragged(7)], ids=["limit", "hybrid", "ragged"])
@torch.no_grad()
def test_the_actor_is_in_the_state_in_which_it_acted(environment: Environment, kind: str) -> None:
    trainer = filled(environment, kind)
    actor, batch = trainer._networks.actor, a_batch(trainer)
    views = views_of(trainer, batch)
    rows = batch.take(views.rows)
    assert actor.actor_memory is not None
    hidden, after = actor.actor_memory.step(actor.actor_body(rows.observations), rows["memory.actor"])
    torch.testing.assert_close(views.outputs(), actor.action_head(hidden), rtol=1e-4, atol=1e-6)
    hidden, _ = actor.actor_memory.step(actor.actor_body(rows.next_observations), after)
    torch.testing.assert_close(views.next_outputs(), actor.action_head(hidden), rtol=1e-4, atol=1e-6)


@torch.no_grad()
def test_rows_of_the_burn_in_are_left_out_unless_the_episode_starts_there() -> None:
    trainer = filled(MaskedHybrid(5))
    batch = a_batch(trainer)
    rows = set(views_of(trainer, batch).rows.tolist())
    valid = batch["is_valid"].view(-1, BURN_IN + LENGTH)
    starts = ~batch["memory.actor"].any(dim=1).view(-1, BURN_IN + LENGTH)[:, 0]
    assert 0 < int(starts.sum()) < len(starts)
    expected = set()
    for sequence, (is_valid, begins) in enumerate(zip(valid, starts, strict=True)):
        count = int(is_valid.sum())
        first = 0 if begins else min(BURN_IN, count - 1)
        expected |= {sequence * (BURN_IN + LENGTH) + row for row in range(first, count)}
    assert rows == expected


def test_rows_that_are_not_there_change_nothing() -> None:
    trainer = filled(MaskedHybrid(5))
    batch, sampler = a_batch(trainer), trainer._sampler
    assert isinstance(sampler, SequenceSampler)
    valid = batch["is_valid"]
    assert not valid.all()
    spoilt = {}
    for name in batch:
        field = batch[name].clone()
        if name != "is_valid":
            field[~valid] = float("nan") if field.is_floating_point() else 0
        spoilt[name] = field
    results = []
    for one in (batch, Batch(spoilt, len(batch))):
        views = views_of(trainer, one)
        rows = one.take(views.rows)
        rewards, _ = trainer._rewards.evaluate(rows, {"extrinsic": 1.0})
        minibatch = trainer._rewards.one_step(rows, rewards)
        trainer._gradient._generator = np.random.default_rng(4)
        alpha = trainer._temperature.alpha()
        critic = trainer._gradient.critic(minibatch, views, alpha)
        policy = trainer._gradient.policy(minibatch, views, alpha)
        flats = trainer._networks.critics.flat, trainer._networks.actor.flat
        results.append((critic.loss, policy.loss, *(flat.gradient.clone() for flat in flats)))
    assert results[0][:2] == results[1][:2]
    for expected, found in zip(results[0][2:], results[1][2:], strict=True):
        assert torch.isfinite(expected).all()
        torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_critics_read_the_state_before_a_sequence() -> None:
    trainer = filled(TimeLimit(3))
    batch = a_batch(trainer)
    critics = trainer._networks.critics
    with torch.no_grad():
        critics.recall.copy_(torch.eye(len(critics.recall)))
        seen = views_of(trainer, batch).critic_code()
        critics.recall.zero_()
        blind = views_of(trainer, batch).critic_code()
    begins = ~batch["memory.actor"].any(dim=1)
    rows = views_of(trainer, batch).rows
    sequence = torch.div(rows, BURN_IN + LENGTH, rounding_mode="floor")
    from_start = begins[sequence * (BURN_IN + LENGTH)]
    torch.testing.assert_close(seen[from_start], blind[from_start])
    assert not torch.allclose(seen[~from_start], blind[~from_start])
