"""The trainer clones experts of every kind, validates on episodes it did not see, and continues exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from agents_bc.episodes import hold_out
from agents_bc.patience import Patience
from agents_core.columns import Columns
from agents_core.options import MemoryConfig, NetworkConfig
from agents_core.schedules import Schedule
from agents_core.testing.demonstrations import HYBRID_SPEC, random_demonstration
from bc_experts import demonstrated, make_trainer, train

MEMORY = NetworkConfig(hidden_units=32, memory=MemoryConfig(size=32, sequence_length=4))


@pytest.mark.parametrize(
    ("name", "options", "network", "steps"),
    [
        ("discrete", {}, None, 20_000),
        ("continuous", {}, None, 40_000),
        ("continuous", {"loss": "mse"}, None, 40_000),
        ("continuous", {}, NetworkConfig(hidden_units=32, squash=True, std="state"), 120_000),
        ("branches", {"batch_size": 64}, None, 60_000),
        ("hybrid", {"batch_size": 64}, None, 60_000),
        ("image", {"batch_size": 64}, None, 4_000),
        ("memory", {"batch_size": 64}, MEMORY, 40_000),
    ],
)
def test_experts_are_cloned(name: str, options: dict[str, Any], network: NetworkConfig | None, steps: int) -> None:
    toy, demonstration = demonstrated(name, 60)
    trainer = make_trainer(
        demonstration, network, max_steps=steps, learning_rate=Schedule(3e-3), patience=None, **options
    )
    stats = train(trainer, steps)
    if demonstration.spec.action.discrete_branches:
        assert stats["validation/accuracy"] > (0.9 if name == "memory" else 0.99)
    if demonstration.spec.action.continuous_size:
        assert stats["validation/error"] < 0.05
    returns = _returns(toy, trainer, 40)
    assert returns.mean() > 0.97


def _returns(toy: Any, trainer: Any, episodes: int) -> np.ndarray:
    """Of episodes of the most likely actions."""
    steps = toy.reset(seed=5)
    (name,) = toy.behavior_specs
    memory = np.zeros((toy.agents, trainer.policy.memory_size), np.float32)
    running, finished = np.zeros(toy.agents), []
    while len(finished) < episodes:
        decision = steps.behaviors[name].decision
        actions = trainer.policy.act(decision.observations, decision.action_mask, memory=memory, deterministic=True)
        memory = memory if actions.memory is None else actions.memory.copy()
        steps = toy.step({name: actions})
        terminal = steps.behaviors[name].terminal
        running[terminal.agent_id] += terminal.reward
        finished += running[terminal.agent_id].tolist()
        running[terminal.agent_id] = 0
        memory[terminal.agent_id] = 0
        running += steps.behaviors[name].decision.reward
    return np.array(finished)


def test_statistics_have_their_names() -> None:
    stats = train(make_trainer(random_demonstration(HYBRID_SPEC, (9, 8, 7))), 10)
    parts = {f"{part}/{name}" for part in ("train", "validation") for name in ("nll", "accuracy", "error")}
    assert stats.keys() == parts | {"train/loss", "train/learning_rate"}


def test_an_update_is_a_pass_and_the_last_one_ends_at_max_steps() -> None:
    demonstration = random_demonstration(lengths=(50,) * 10)
    trainer = make_trainer(demonstration, batch_size=50, validation_split=0.2, max_steps=520, patience=None)
    learned = []
    for step in (0, 400):
        trainer.process(Columns({}), step)
        trainer.update()
        learned.append(trainer.rows_learned)
    assert learned == [400, 150]  # Eight episodes of 50; then in whole minibatches up to the 120 that are left.


def test_the_learning_rate_follows_its_schedule() -> None:
    trainer = make_trainer(random_demonstration(), learning_rate=Schedule(1e-2, 0.0), max_steps=1000)
    trainer.process(Columns({}), 250)
    assert trainer.update()["train/learning_rate"] == pytest.approx(7.5e-3)


@pytest.mark.parametrize("network", [NetworkConfig(hidden_units=8, normalize=True), MEMORY])
def test_a_trainer_continues_bit_for_bit_from_its_states(network: NetworkConfig) -> None:
    demonstration = random_demonstration(lengths=(9, 8, 7, 6, 2))
    trainer = make_trainer(demonstration, network, batch_size=10, patience=3)
    train(trainer, 100)
    states = trainer.policy_state(), trainer.state_dict()
    stats = train(trainer, 100)
    other = make_trainer(demonstration, network, batch_size=10, patience=3)
    train(other, 30)
    other.load_policy_state(states[0])
    other.load_state_dict(states[1])
    assert train(other, 100) == stats
    assert torch.equal(other.policy.network.flat.values, trainer.policy.network.flat.values)


def test_when_patience_is_over_the_best_weights_are_back() -> None:
    # Noise cannot be learned: at once the validation gets worse.
    trainer = make_trainer(random_demonstration(lengths=(20,) * 6), learning_rate=Schedule(1e-2), patience=3)
    scores, weights = [], []
    while trainer.is_ready():
        train(trainer, 1)
        scores.append(-trainer.score)
        weights.append(trainer.policy.network.flat.values.clone())
    best = int(np.argmin(scores[:-1]))
    assert len(scores) == best + 4
    assert torch.equal(weights[-1], weights[best])
    assert scores[-1] == scores[best]


def test_patience_counts_from_the_best_and_survives_a_checkpoint() -> None:
    patience = Patience(2)
    for score in (1.0, 0.5, 2.0, 1.5):
        patience.note(score, torch.full((1,), score))
    other = Patience(2)
    other.load_state_dict(patience.state_dict())
    assert not other.is_over
    other.note(2.0, torch.zeros(1))
    assert other.is_over
    assert other.best_weights.item() == 2.0


@pytest.mark.parametrize(("lengths", "share", "held"), [((4,) * 10, 0.1, 4), ((4,) * 10, 0.29, 12), ((5, 5), 0.01, 5)])
def test_whole_episodes_are_held_out(lengths: tuple[int, ...], share: float, held: int) -> None:
    episodes = random_demonstration(lengths=lengths).episodes
    learned, validation = hold_out(episodes, share, np.random.default_rng(0))
    assert validation.lengths.sum() == held == len(validation.columns)
    ids = [set(part.columns["episode_id"].tolist()) for part in (learned, validation)]
    assert not ids[0] & ids[1]
    assert len(ids[0] | ids[1]) == len(lengths)


def test_of_one_episode_the_end_is_held_out_and_of_one_row_nothing() -> None:
    learned, validation = hold_out(random_demonstration(lengths=(10,)).episodes, 0.2, np.random.default_rng(0))
    assert (learned.lengths.tolist(), validation.lengths.tolist()) == ([8], [2])
    learned, validation = hold_out(random_demonstration(lengths=(1,)).episodes, 0.2, np.random.default_rng(0))
    assert (len(learned.columns), len(validation.columns)) == (1, 0)
    train(make_trainer(random_demonstration(lengths=(1,))), 10)
