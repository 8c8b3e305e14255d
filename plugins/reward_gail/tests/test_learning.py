"""GAIL learns what only the expert shows, under PPO and SAC, and lives as long as the expert does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from agents_core.columns import Batch
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.contracts.trainer import Trainer
from agents_core.options import NetworkConfig
from agents_core.registry import load_registry
from agents_core.schedules import Schedule
from agents_core.testing.conformance.trainers.harness import make_trainer, spec_of
from agents_core.testing.contexts import extrinsic_reward
from agents_core.testing.driver import Driver
from agents_core.testing.experts import demonstrate
from gail_cases import make_signal
from gail_toys import EarlyEnd, HiddenTarget, Lock, measured

PPO = {"buffer_size": 640, "batch_size": 64, "num_epoch": 4, "beta": 0.01, "learning_rate": 2e-3}
SAC = {"batch_size": 64, "buffer_init_steps": 500, "steps_per_update": 8, "learning_rate": 2e-3, "init_entcoef": 0.1}


class Constant(RewardSignal):
    """Pays the same for everything."""

    strength, gamma = Schedule(1.0), 0.9

    def evaluate(self, batch: Batch) -> torch.Tensor:
        return torch.ones(len(batch))


def make(toy: Any, signals: dict[str, RewardSignal], trainer: str = "ppo", *, steps: int, **options: Any) -> Trainer:
    component = load_registry().find("trainer", trainer)
    config = component.load_config().model_validate({**(PPO if trainer == "ppo" else SAC), **options})
    default = component.spec.buffer
    buffer = None
    if default is not None:
        kept = load_registry().find("buffer", default)
        buffer = (kept, kept.load_config().model_validate({"buffer_size": 20_000}))
    return make_trainer(
        component,
        config,
        spec_of(toy),
        signals=signals,
        max_steps=steps,
        network=NetworkConfig(hidden_units=32),
        buffer=buffer,
    )


def train(toy: Any, signals: dict[str, RewardSignal], trainer: str = "ppo", *, steps: int, **options: Any) -> Trainer:
    made = make(toy, signals, trainer, steps=steps, **options)
    Driver(toy, made).advance(steps)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(("trainer", "steps"), [("ppo", 20_000), ("sac", 12_000)])
def test_a_target_that_only_the_expert_shows_is_found(tmp_path: Path, trainer: str, steps: int) -> None:
    toy = HiddenTarget()
    expert = demonstrate(toy, toy.expert, 10)
    best = expert.episodes.columns["reward"].sum() / 10
    signal = make_signal(tmp_path, expert, gamma=0.9, learning_rate=1e-3)
    made = train(toy, {"gail": signal}, trainer, steps=steps)
    assert measured(toy, made)[0] > best - 2


@pytest.mark.slow
def test_a_constant_reward_does_not_find_it() -> None:
    toy = HiddenTarget()
    made = train(toy, {"constant": Constant()}, steps=20_000)
    assert measured(toy, made)[0] < -10


def mean_length(folder: Path, **options: Any) -> float:
    toy = EarlyEnd()
    signal = make_signal(folder, demonstrate(toy, toy.expert, 10), gamma=0.95, learning_rate=1e-3, **options)
    # With a constant rate the length goes up and down around the expert's, and the last policy is any of these.
    settling = {"schedule": "linear", "initial": 2e-3, "final": 0}
    return measured(toy, train(toy, {"gail": signal}, steps=40_000, learning_rate=settling))[1]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"use_actions": True}, {"reward": "centered"}, {"reward": "logit"}])
def test_imitating_an_expert_that_ends_early_does_not_give_a_long_life(tmp_path: Path, options: Any) -> None:
    length = mean_length(tmp_path, **options)
    assert 3 < length < 6


@pytest.mark.slow
def test_an_always_positive_reward_without_an_absorbing_state_would(tmp_path: Path) -> None:
    length = mean_length(tmp_path, absorbing=False)
    assert length > 20


@pytest.mark.slow
def test_demonstrations_open_a_lock_that_rewards_alone_do_not(tmp_path: Path) -> None:
    toy = Lock()
    demonstration = demonstrate(toy, toy.expert, 5)
    spec = spec_of(toy)
    extrinsic = lambda: extrinsic_reward(spec, gamma=0.99)  # noqa: E731
    alone = train(toy, {"extrinsic": extrinsic()}, steps=15_000)
    signal = make_signal(tmp_path, demonstration, strength=0.1, use_actions=True)
    cloning = {"demo_path": tmp_path / "expert.h5", "steps": 10_000, "num_epoch": 30}
    shown = train(toy, {"extrinsic": extrinsic(), "gail": signal}, steps=15_000, behavioral_cloning=cloning)
    assert measured(toy, alone)[0] < 0.05
    assert measured(toy, shown)[0] > 0.9
