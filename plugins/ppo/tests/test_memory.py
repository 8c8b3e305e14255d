"""PPO with memory: what is recomputed is what happened, and what must be remembered is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from agents_core.contracts.environment import Environment
from agents_core.learning.choose_gradient import choose_gradient
from agents_core.learning.gradient import LossWeights
from agents_core.learning.rollout import extend_batch, rollout_batch
from agents_core.options import MemoryConfig, NetworkConfig
from agents_core.schedules import Schedule
from agents_core.testing.contexts import extrinsic_reward
from agents_core.testing.driver import Driver
from agents_core.testing.memory_toys import RememberedCue
from agents_core.testing.probes import TimeLimit
from agents_core.testing.ragged import Ragged
from agents_core.testing.toys import MaskedHybrid
from agents_core.trajectory import Trajectories
from agents_ppo.config import PPOConfig
from ppo_cases import make_trainer

FROZEN = PPOConfig(
    buffer_size=256, batch_size=64, num_epoch=1, learning_rate=Schedule(1e-3, 0.0), epsilon=Schedule(1e-5)
)
# Episodes of 10 steps in `TimeLimit`, of 8 in `MaskedHybrid`, of random lengths at random times in `Ragged`.
ENVIRONMENTS: dict[str, Callable[[int], Environment]] = {
    "limit": TimeLimit,
    "hybrid": MaskedHybrid,
    "ragged": Ragged,
}


def network(sequence_length: int, **options: Any) -> NetworkConfig:
    """A network that normalises and remembers."""
    shared = options.pop("shared", False)
    memory = MemoryConfig(size=12, sequence_length=sequence_length, **options)
    return NetworkConfig(hidden_units=16, num_layers=1, shared=shared, normalize=True, memory=memory)


def make_loop(environment: Environment, config: PPOConfig, network: NetworkConfig, **options: Any) -> Driver:
    environment.reset(seed=0)
    (spec,) = environment.behavior_specs.values()
    loop = Driver(environment, make_trainer(spec, config, network, **options))
    # First weights leave the policy nearly blind.
    loop.trainer.policy.network.flat.values += 0.2 * torch.randn(
        loop.trainer.policy.network.flat.values.shape, generator=torch.Generator().manual_seed(3)
    )
    return loop


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("agents", [1, 64])
@pytest.mark.parametrize("sequence_length", [3, 8, 20])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_at_learning_rate_0_the_ratio_is_1_and_the_kl_0(
    name: str, sequence_length: int, agents: int, shared: bool, kind: str
) -> None:
    config = network(sequence_length, shared=shared, type=kind, burn_in=sequence_length // 2)
    loop = make_loop(ENVIRONMENTS[name](agents), FROZEN, config, max_steps=1)
    for _ in range(2):
        loop.advance(1)
        assert abs(loop.stats[-1]["train/approx_kl"]) < 1e-6
        # No ratio is further than epsilon from 1.
        assert loop.stats[-1]["train/clip_fraction"] == 0


@pytest.mark.parametrize("agents", [1, 64])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_what_agents_remember_is_what_their_episode_was_so_far(name: str, agents: int) -> None:
    """Step by step through each episode, from zero, gives the state before every row, across rollouts and cuts."""
    loop = make_loop(ENVIRONMENTS[name](agents), FROZEN, network(5))
    layer, body = loop.trainer.policy.network.actor_memory, loop.trainer.policy.network.actor_body
    assert layer is not None
    states: dict[int, torch.Tensor] = {}
    for rollout in [loop.rollout() for _ in range(3)]:
        columns = rollout.columns
        with torch.no_grad():
            features = body([torch.from_numpy(observation) for observation in columns.observations])
            for row in np.argsort(columns["tick"], kind="stable"):
                episode = int(columns["episode_id"][row])
                state = states.get(episode, torch.zeros(1, layer.state_size))
                if name != "ragged":  # There, agents that did not act when the rollout was taken lack a row.
                    np.testing.assert_allclose(columns["memory.actor"][row], state[0].numpy(), atol=1e-5)
                _, states[episode] = layer.step(
                    features[row : row + 1], torch.from_numpy(columns["memory.actor"][row])[None]
                )
        starts = np.flatnonzero(columns["tick"] == 0)
        assert (columns["memory.actor"][starts] == 0).all()


def naive_values(loop: Driver, rollouts: list[Trajectories]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each rollout, values and values after trajectories: the critic step by step, a state per episode."""
    network = loop.trainer.policy.network
    layer = network.critic_memory
    assert layer is not None
    states: dict[int, torch.Tensor] = {}
    results = []
    for rollout in rollouts:
        columns = rollout.columns
        values, finals = np.empty((len(rollout), 1)), np.empty((len(rollout.lengths), 1))
        trajectory_of_end = {int(row): number for number, row in enumerate(rollout.last_rows)}
        with torch.no_grad():
            for row in np.lexsort((columns["tick"], columns["episode_id"])):
                episode = int(columns["episode_id"][row])
                seen = [torch.from_numpy(array[row : row + 1]) for array in columns.observations]
                state = states.get(episode, torch.zeros(1, layer.state_size))
                hidden, states[episode] = layer.step(network.critic_body(seen), state)
                values[row] = network.value_head(hidden).numpy()
                if int(row) in trajectory_of_end:
                    number = trajectory_of_end[int(row)]
                    final = [torch.from_numpy(array[number : number + 1]) for array in rollout.final_observations]
                    after, _ = layer.step(network.critic_body(final), states[episode])
                    finals[number] = network.value_head(after).numpy()
        results.append((values, finals))
    return results


@pytest.mark.parametrize("burn_in", [0, 3])
@pytest.mark.parametrize("agents", [1, 64])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_values_are_those_of_a_critic_that_remembers_each_episode(name: str, agents: int, burn_in: int) -> None:
    loop = make_loop(ENVIRONMENTS[name](agents), FROZEN, network(4, burn_in=burn_in))
    gradient = choose_gradient(loop.trainer.policy.network)
    rollouts = [loop.rollout() for _ in range(3)]
    for rollout, (values, finals) in zip(rollouts, naive_values(loop, rollouts), strict=True):
        evaluation = gradient.evaluate(rollout, rollout_batch(rollout, torch.device("cpu")))
        np.testing.assert_allclose(evaluation.values, values, atol=1e-5)
        np.testing.assert_allclose(evaluation.final_values, finals, atol=1e-5)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("burn_in", [0, 3])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_values_of_minibatches_are_those_of_the_rollout(name: str, burn_in: int, shared: bool) -> None:
    loop = make_loop(ENVIRONMENTS[name](8), FROZEN, network(4, burn_in=burn_in, shared=shared))
    gradient = choose_gradient(loop.trainer.policy.network)
    for rollout in (loop.rollout(), loop.rollout()):
        batch = rollout_batch(rollout, torch.device("cpu"))
        evaluation = gradient.evaluate(rollout, batch)
        random = np.random.default_rng(0)
        returns = evaluation.values[:, 0] + random.normal(0, 0.1, len(rollout)).astype(np.float32)
        fields = {"log_prob": evaluation.log_prob, "advantage": random.normal(size=len(rollout)), **evaluation.fields}
        fields |= {"returns.a": returns, "values.a": evaluation.values[:, 0]}
        gradient.load(extend_batch(batch, fields, torch.device("cpu")), ["a"])
        for rows in gradient.minibatches(len(rollout), 64, random):
            losses = gradient.compute(rows, LossWeights(0.2, 0.0, 0.5, None))
            expected = np.square(returns - evaluation.values[:, 0])[rows].mean()
            assert losses.value == pytest.approx(expected, rel=1e-3)
            assert losses.policy == pytest.approx(-fields["advantage"][rows].mean(), abs=1e-5)


def train(agents: int, memory: MemoryConfig | None, steps: int) -> float:
    """Mean return of the remembered cue after training."""
    environment = RememberedCue(agents)
    (spec,) = environment.behavior_specs.values()
    config = PPOConfig(
        buffer_size=1024, batch_size=256, num_epoch=4, learning_rate=Schedule(3e-3, 0.0), beta=Schedule(0.0)
    )
    options = NetworkConfig(hidden_units=32, num_layers=1, memory=memory)
    trainer = make_trainer(spec, config, options, signals={"extrinsic": extrinsic_reward(spec)}, max_steps=steps)
    return Driver(environment, trainer, time_horizon=64).advance(steps).evaluate(200)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_cue_is_remembered_and_without_memory_it_is_not(kind: Any) -> None:
    assert train(32, MemoryConfig(type=kind, size=32, sequence_length=16), 40_000) > 0.95
    assert abs(train(32, None, 20_000)) < 0.3
