"""What reward signals are shown and asked, and what their rewards become."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from agents_core.columns import Batch, Columns
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.schedules import Schedule
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.contexts import extrinsic_reward
from agents_sac.trainer import SACTrainer
from sac_cases import make_trainer, random_transitions

CONTINUOUS = BehaviorSpec((ObservationSpec("one", (4,)),), ActionSpec(2))


def learn(trainer: SACTrainer) -> dict[str, float]:
    trainer.process(random_transitions(CONTINUOUS, 40), 40)
    return trainer.update()


class Watching(RewardSignal):
    """Rewards 1 everywhere, and counts what it is asked."""

    def __init__(self, strength: float = 1.0) -> None:
        self.strength, self.gamma = Schedule(strength), 0.9
        self.observed: list[int] = []
        self.evaluated = self.updated = 0

    def observe(self, batch: Batch) -> None:
        self.observed += batch["tick"].tolist()

    def evaluate(self, batch: Batch) -> torch.Tensor:
        self.evaluated += 1
        return torch.ones(len(batch))

    def update(self, minibatch: Batch) -> dict[str, float]:
        assert "next_obs.0" in minibatch
        self.updated += 1
        return {"loss": 2.0}


@pytest.mark.parametrize(("own_pace", "updates"), [(None, 40), (8, 5)])
def test_signals_see_each_transition_once_and_are_asked_for_each_minibatch(own_pace: int | None, updates: int) -> None:
    watching = Watching()
    signals = {"extrinsic": extrinsic_reward(CONTINUOUS), "watching": watching}
    trainer = make_trainer(CONTINUOUS, signals=signals, reward_signal_steps_per_update=own_pace)
    stats = learn(trainer)
    assert watching.observed == list(range(40))
    assert watching.evaluated == 40
    assert watching.updated == updates
    assert stats["reward/watching/loss"] == 2
    assert stats["reward/watching/raw"] == 1
    assert trainer._networks.critics.num_signals == 2


def test_a_signal_of_strength_zero_is_trained_and_logged_and_has_no_value() -> None:
    watching = Watching(strength=0.0)
    trainer = make_trainer(CONTINUOUS, signals={"extrinsic": extrinsic_reward(CONTINUOUS), "watching": watching})
    alone = make_trainer(CONTINUOUS)
    stats, expected = learn(trainer), learn(alone)
    assert stats["reward/watching/raw"] == 1
    assert watching.updated == 40
    assert {name: value for name, value in stats.items() if "watching" not in name} == expected


def test_where_no_reward_counts_the_value_is_that_of_the_entropy() -> None:
    trainer = make_trainer(CONTINUOUS, signals={"extrinsic": extrinsic_reward(CONTINUOUS, strength=0)})
    stats = learn(trainer)
    assert trainer._networks.critics.num_signals == 1
    assert stats["reward/extrinsic/scaled"] == 0
    assert stats["train/value_loss"] > 0


@pytest.mark.parametrize("own_pace", [None, 4])
def test_signals_train_on_transitions_as_they_happened_whatever_the_number_of_steps(own_pace: int | None) -> None:
    distances = set()

    class Pairs(Watching):
        def update(self, minibatch: Batch) -> dict[str, float]:
            distances.update((minibatch["next_obs.0"] - minibatch["obs.0"]).flatten().tolist())
            return {}

    spec = BehaviorSpec((ObservationSpec("time", (1,)),), ActionSpec(1))
    trainer = make_trainer(
        spec,
        signals={"extrinsic": extrinsic_reward(spec), "pairs": Pairs()},
        n_step=3,
        reward_signal_steps_per_update=own_pace,
    )
    time = np.arange(60, dtype=np.float32)[:, None]
    trainer.process(Columns({**random_transitions(spec, 60).fields, "obs.0": time, "next_obs.0": time + 1}), 60)
    trainer.update()
    assert distances == {1.0}
