"""PPO solves what must be seen, compared or aimed at, and does not where that is hidden from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from agents_core.columns import Array
from agents_core.contracts.encoder import ChosenEncoder, EncoderContext
from agents_core.networks.encoders.config import EntitiesConfig, ImageConfig
from agents_core.networks.encoders.entities import make_entities
from agents_core.networks.encoders.images import make_nature_cnn
from agents_core.options import NetworkConfig
from agents_core.schedules import Schedule
from agents_core.spec import BehaviorSpec
from agents_core.testing.column_environment import ColumnEnvironment
from agents_core.testing.contexts import extrinsic_reward
from agents_core.testing.driver import Driver
from agents_core.testing.entity_toys import NearestEntity
from agents_core.testing.goal_toys import GoalLine
from agents_core.testing.image_toys import TwoCameras, VisualSimple1D
from agents_ppo.config import PPOConfig
from ppo_cases import make_trainer
from torch import nn

CONFIG = PPOConfig(buffer_size=512, batch_size=128, num_epoch=4, learning_rate=Schedule(2e-3, 0.0), beta=Schedule(0.0))
NATURE_CNN = ChosenEncoder("encoder 'nature_cnn'", make_nature_cnn, ImageConfig())
SMALL_ENTITIES = ChosenEncoder("encoder 'entities'", make_entities, EntitiesConfig(embedding=32, heads=2))


def trained_return(
    environment: ColumnEnvironment,
    steps: int,
    gamma: float = 0.0,
    network: NetworkConfig | None = None,
    encoders: Mapping[str, ChosenEncoder] | None = None,
    spec: BehaviorSpec | None = None,
) -> float:
    """Mean return of the most likely actions after training; the trainer may be told another spec than is true."""
    spec = spec or next(iter(environment.behavior_specs.values()))
    signals = {"extrinsic": extrinsic_reward(spec, gamma=gamma)}
    trainer = make_trainer(spec, CONFIG, network, signals=signals, max_steps=steps, encoders=encoders)
    return Driver(environment, trainer, time_horizon=64).advance(steps).evaluate(200)


def without(toy: type[Any], index: int) -> ColumnEnvironment:
    """A toy with 16 agents that never see one of their observations."""

    class Hidden(toy):  # type: ignore[misc]
        def observe(self) -> tuple[Array, ...]:
            observations = list(super().observe())
            observations[index] = np.zeros_like(observations[index])
            return tuple(observations)

    environment: ColumnEnvironment = Hidden(16)
    return environment


@pytest.mark.slow
def test_visual_simple1d_is_solved_by_seeing_it() -> None:
    assert trained_return(VisualSimple1D(16), 6_000, gamma=0.99) > 0.99
    assert trained_return(without(VisualSimple1D, 0), 6_000, gamma=0.99) < 0.3


@pytest.mark.slow
def test_visual_simple1d_is_solved_on_large_images() -> None:
    environment = VisualSimple1D(16, side=84)
    network = NetworkConfig(hidden_units=32, shared=True)
    assert trained_return(environment, 3_000, 0.99, network, {"camera": NATURE_CNN}) > 0.99


@pytest.mark.slow
def test_two_cameras_and_a_vector_are_solved_together_only() -> None:
    network = NetworkConfig(hidden_units=32, shared=True)
    assert trained_return(TwoCameras(16), 8_000, network=network) > 0.98
    for index in range(3):
        assert trained_return(without(TwoCameras, index), 4_000, network=network) < 0.87


@pytest.mark.slow
def test_the_nearest_of_a_varying_number_of_entities_is_found_by_attention() -> None:
    environment = NearestEntity(64)
    assert trained_return(environment, 12_000, encoders={"entities": SMALL_ENTITIES}) > 0.95


@pytest.mark.slow
def test_the_nearest_entity_is_not_found_by_a_perceptron_over_all_of_them() -> None:
    environment = NearestEntity(64)
    (spec,) = environment.behavior_specs.values()
    flat = replace(spec, observations=(replace(spec.observations[0], kind="vector"),))
    assert trained_return(environment, 12_000, network=NetworkConfig(hidden_units=128), spec=flat) < 0.75


@pytest.mark.slow
def test_a_goal_is_reached_by_knowing_it() -> None:
    assert trained_return(GoalLine(16), 12_000, gamma=0.9) > 0.99
    assert trained_return(without(GoalLine, 1), 12_000, gamma=0.9) < 0.5


@pytest.mark.slow
def test_a_goal_is_reached_where_it_makes_the_weights() -> None:
    network = NetworkConfig(hidden_units=32, conditioning="hyper")
    assert trained_return(GoalLine(16), 12_000, gamma=0.9, network=network) > 0.99


def test_images_stay_bytes_until_a_few_at_a_time_reach_the_encoder() -> None:
    seen: list[tuple[torch.dtype, int]] = []

    def make_spy(context: EncoderContext[ImageConfig]) -> nn.Module:
        module = make_nature_cnn(context)
        module.register_forward_pre_hook(lambda _, inputs: seen.append((inputs[0].dtype, len(inputs[0]))))
        return module

    environment = VisualSimple1D(16, side=84)
    (spec,) = environment.behavior_specs.values()
    config = PPOConfig(buffer_size=1024, batch_size=128, num_epoch=1)
    spy = ChosenEncoder("encoder 'spy'", make_spy, ImageConfig())
    trainer = make_trainer(spec, config, NetworkConfig(hidden_units=8, shared=True), encoders={"camera": spy})
    loop = Driver(environment, trainer)
    rollout = loop.rollout()
    assert rollout.columns["obs.0"].dtype == np.uint8
    seen.clear()
    trainer.process(rollout, 1024)
    trainer.update()
    assert {dtype for dtype, _ in seen} == {torch.uint8}
    assert max(rows for _, rows in seen) <= 256
