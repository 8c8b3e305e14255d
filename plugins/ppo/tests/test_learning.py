"""PPO solves the probes and the toys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from agents_core.contracts.environment import Environment
from agents_core.schedules import Schedule
from agents_core.testing.contexts import extrinsic_reward
from agents_core.testing.driver import Driver
from agents_core.testing.probes import DelayedReward, OneStepProbe
from agents_core.testing.toys import MaskedBranches, MaskedHybrid, Simple1D
from agents_ppo.config import PPOConfig
from ppo_cases import make_trainer

CONFIG = PPOConfig(buffer_size=256, batch_size=64, num_epoch=4, learning_rate=Schedule(3e-3, 0.0), beta=Schedule(0.0))


def train(
    environment: Environment, steps: int, config: PPOConfig = CONFIG, horizon: int = 64, gamma: float = 0.9
) -> Driver:
    (spec,) = environment.behavior_specs.values()
    trainer = make_trainer(spec, config, signals={"extrinsic": extrinsic_reward(spec, gamma=gamma)}, max_steps=steps)
    return Driver(environment, trainer, time_horizon=horizon).advance(steps)


def value(loop: Driver, observation: float) -> float:
    return float(loop.trainer.policy.network.value((torch.full((1, 1), observation),)).item())


@pytest.mark.parametrize("action", ["discrete", "continuous"])
def test_the_value_of_a_constant_reward(action: Any) -> None:
    assert value(train(OneStepProbe("constant_reward", 8, action), 10_000), 0) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("action", ["discrete", "continuous"])
def test_the_value_of_an_observation(action: Any) -> None:
    loop = train(OneStepProbe("observation_reward", 8, action), 10_000)
    assert [value(loop, seen) for seen in (-1, 1)] == pytest.approx([-1, 1], abs=0.1)


@pytest.mark.parametrize("action", ["discrete", "continuous"])
def test_the_value_of_a_reward_that_comes_later(action: Any) -> None:
    loop = train(DelayedReward(8, action), 15_000)
    assert [value(loop, seen) for seen in (0, 1)] == pytest.approx([0.9, 1], abs=0.05)


@pytest.mark.parametrize("action", ["discrete", "continuous"])
@pytest.mark.parametrize("name", ["action_reward", "observation_action_reward"])
def test_the_action_that_pays(name: Any, action: Any) -> None:
    assert train(OneStepProbe(name, 8, action), 15_000).evaluate(40) > 0.97


@pytest.mark.slow
@pytest.mark.parametrize(("environment", "best"), [(MaskedBranches(16), 0.99), (MaskedHybrid(16), 0.98)])
def test_masked_toys(environment: Environment, best: float) -> None:
    assert train(environment, 60_000, gamma=0.0).evaluate(100) > best


@pytest.mark.slow
@pytest.mark.parametrize("action", ["discrete", "continuous"])
@pytest.mark.parametrize("agents", [1, 64])
def test_simple1d_within_2500_steps_per_agent(agents: int, action: Any) -> None:
    steps = 2500 * agents
    loop = train(Simple1D(agents, action), min(steps, 40_000), horizon=32, gamma=0.99)
    assert loop.evaluate(100) > 0.99
    assert np.mean(loop.returns[-100:]) > 0.9
