"""SAC solves the probes and the toys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import agents_core
import numpy as np
import pytest
import torch
from agents_core.columns import Columns
from agents_core.contracts.environment import Environment
from agents_core.options import MemoryConfig, NetworkConfig
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.contexts import extrinsic_reward
from agents_core.testing.driver import Driver
from agents_core.testing.image_toys import VisualSimple1D
from agents_core.testing.memory_toys import RememberedCue
from agents_core.testing.probes import DelayedReward, OneStepProbe
from agents_core.testing.toys import MaskedBranches, MaskedHybrid, Simple1D
from agents_sac.actions import choices_taken
from agents_sac.losses import taken_q
from sac_cases import make_trainer, random_transitions, replay


def train(
    environment: Environment, steps: int, network: NetworkConfig | None = None, gamma: float = 0.9, **options: Any
) -> Driver:
    environment.reset(seed=0)
    (spec,) = environment.behavior_specs.values()
    defaults = {
        "batch_size": 64,
        "learning_rate": {"initial": 3e-3, "final": 0},
        "tau": 0.05,
        "steps_per_update": 8,
        "buffer_init_steps": 500,
        "init_entcoef": 0.05,
    }
    trainer = make_trainer(
        spec,
        network,
        signals={"extrinsic": extrinsic_reward(spec, gamma=gamma)},
        make_buffer=replay(spec),
        max_steps=steps,
        **{**defaults, **options},
    )
    return Driver(environment, trainer).advance(steps)


@torch.no_grad()
def q(loop: Driver, observation: float, action: float | None = None) -> float:
    """The smaller twin's Q, of the first choice where the action is discrete."""
    continuous = torch.empty(1, 0) if action is None else torch.full((1, 1), action)
    values = loop.trainer._networks.critics([torch.full((1, 1), observation)], continuous)
    return float(values.min(dim=0).values[0, 0, 0])


@pytest.mark.parametrize("action", ["discrete", "continuous"])
def test_the_value_of_an_observation(action: Any) -> None:
    loop = train(OneStepProbe("observation_reward", 8, action), 6_000)
    done = None if action == "discrete" else 0.0
    assert [q(loop, seen, done) for seen in (-1, 1)] == pytest.approx([-1, 1], abs=0.1)


@pytest.mark.parametrize("action", ["discrete", "continuous"])
def test_the_value_of_a_reward_that_comes_later(action: Any) -> None:
    loop = train(DelayedReward(8, action), 8_000, init_entcoef=1e-5)
    done = None if action == "discrete" else 0.0
    assert [q(loop, seen, done) for seen in (0, 1)] == pytest.approx([0.9, 1], abs=0.05)


@pytest.mark.parametrize("sizes", [(3,), (3, 3), (3,) * 5])
def test_the_value_of_a_constant_reward_does_not_depend_on_how_many_branches_there_are(sizes: tuple[int, ...]) -> None:
    """Reward 1 for ever, gamma 0.9: 10. A minimum of each branch would be too low, as only their sum is learned."""
    spec = BehaviorSpec((ObservationSpec("one", (4,)),), ActionSpec(0, sizes))
    trainer = make_trainer(
        spec,
        signals={"extrinsic": extrinsic_reward(spec, gamma=0.9)},
        make_buffer=replay(spec),
        init_entcoef=1e-6,
        discrete_target_entropy=0,
        learning_rate=1e-3,
        tau=0.05,
        steps_per_update=0.5,
    )
    ends = {name: np.zeros(1000, np.bool_) for name in ("terminated", "truncated")}
    rows = random_transitions(spec, 1000).fields | ends | {"reward": np.ones(1000, np.float32)}
    trainer.process(Columns(rows), 1000)
    trainer.update()
    assert trainer.buffer is not None
    batch = trainer.buffer.sample(500, np.random.default_rng(0))
    with torch.no_grad():
        q = trainer._networks.critics(batch.observations, batch["action.continuous"])
        mean = taken_q(q, choices_taken(batch["action.discrete"], sizes)).mean().item()
    assert mean == pytest.approx(10, abs=0.5)


@pytest.mark.parametrize("action", ["discrete", "continuous"])
def test_the_action_that_pays(action: Any) -> None:
    assert train(OneStepProbe("observation_action_reward", 8, action), 8_000).evaluate(40) > 0.9


@pytest.mark.parametrize("num_envs", [1, 4])
@pytest.mark.parametrize("workers", ["inline", "process"])
def test_q_bootstraps_through_time_limits(workers: str, num_envs: int, tmp_path: Path) -> None:
    """Reward 1 a step, limit of 10 steps, gamma 0.9: Q is 10 everywhere; without bootstrapping, 5.3."""
    result = agents_core.train(
        {
            "plugins": ["agents_core.testing.plugin"],
            "environment": {
                "type": "toy",
                "id": "time_limit",
                "num_envs": num_envs,
                "workers": {"type": workers},
            },
            "behaviors": {
                "*": {
                    "max_steps": 2000 * num_envs,
                    "summary_freq": 250 * num_envs,
                    "network": {"hidden_units": 16, "activation": "relu"},
                    "trainer": {
                        "type": "sac",
                        "learning_rate": 3e-3,
                        "batch_size": 32,
                        "tau": 0.05,
                        "steps_per_update": num_envs,
                        "buffer_init_steps": 100,
                        "init_entcoef": 1e-5,
                        "discrete_target_entropy": 0,
                        "buffer": {"type": "replay", "buffer_size": 5000},
                    },
                    "reward_signals": {"extrinsic": {"gamma": 0.9}},
                }
            },
            "evaluation": {"interval": 0},
            "stats": {"jsonl": {}},
        },
        results=tmp_path,
        run_id="limit",
    )
    last = json.loads((result.directory / "metrics.jsonl").read_text().splitlines()[-1])
    assert 9.5 < last["stats"]["train/mean_q"] < 10.5


@pytest.mark.slow
@pytest.mark.parametrize(("environment", "best"), [(MaskedBranches(16), 0.99), (MaskedHybrid(16), 0.97)])
def test_masked_toys(environment: Environment, best: float) -> None:
    assert train(environment, 40_000, gamma=0.0, steps_per_update=16).evaluate(100) > best


@pytest.mark.slow
@pytest.mark.parametrize("action", ["discrete", "continuous"])
def test_simple1d(action: Any) -> None:
    assert train(Simple1D(8, action), 20_000, gamma=0.99).evaluate(50) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("action", ["discrete", "continuous"])
def test_simple1d_seen_as_an_image(action: Any) -> None:
    network = NetworkConfig(hidden_units=32, num_layers=1, activation="relu")
    loop = train(VisualSimple1D(8, action, side=20), 12_000, network, gamma=0.99, batch_size=32)
    assert loop.evaluate(50) > 0.95


@pytest.mark.slow
def test_what_must_be_remembered_is() -> None:
    network = NetworkConfig(
        hidden_units=32, num_layers=1, activation="relu", memory=MemoryConfig(size=16, sequence_length=12)
    )
    loop = train(RememberedCue(16), 16_000, network, gamma=0.9, batch_size=128, steps_per_update=16)
    assert loop.evaluate(100) > 0.95


def test_without_memory_the_cue_is_lost() -> None:
    assert np.abs(train(RememberedCue(16), 4_000).evaluate(100)) < 0.6
