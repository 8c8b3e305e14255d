"""The gradient by hand equals autograd's."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import torch
from agents_core.columns import Batch
from agents_core.learning.gradient import AutogradGradient, LossWeights
from agents_core.learning.plain_gradient import PlainGradient
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.initialisation import torch_generator
from agents_core.options import NetworkConfig
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec

ACTIONS = {
    "gaussian": ActionSpec(3),
    "discrete": ActionSpec(0, (4,)),
    "branches": ActionSpec(0, (3, 2)),
    "hybrid": ActionSpec(2, (3, 2)),
}
WEIGHTS = LossWeights(epsilon=0.2, beta=0.01, value_coefficient=0.5, value_clip_range=None)
ROWS = 64


def build(action: ActionSpec, config: NetworkConfig, heads: int) -> ActorCritic:
    spec = BehaviorSpec((ObservationSpec("a", (5,)), ObservationSpec("b", (2, 2))), action)
    network = ActorCritic(spec, config, heads, torch.device("cpu"), torch_generator(np.random.SeedSequence(0)))
    network.flat.values += 0.1 * torch.randn(network.flat.values.shape, generator=torch.Generator().manual_seed(0))
    network.observe([np.random.default_rng(0).normal(1, 2, (50, *part.shape)) for part in spec.observations])
    return network


def rollout(network: ActorCritic, signals: list[str], masked: bool) -> Batch:
    """Random rows whose ratios lie within and outside of the clip range."""
    generator, spec = np.random.default_rng(1), network.spec
    fields = {
        f"obs.{index}": generator.normal(size=(ROWS, *observation.shape))
        for index, observation in enumerate(spec.observations)
    }
    for signal in signals:
        fields |= {f"returns.{signal}": generator.normal(size=ROWS), f"values.{signal}": generator.normal(size=ROWS)}
    fields["action.raw"] = generator.normal(size=(ROWS, spec.action.continuous_size))
    fields["advantage"] = generator.normal(size=ROWS)
    tensors = {name: torch.from_numpy(array.astype(np.float32)) for name, array in fields.items()}
    discrete = [generator.integers(0, size, ROWS) for size in spec.action.discrete_branches]
    tensors["action.discrete"] = torch.from_numpy(np.array(discrete, np.int64).reshape(-1, ROWS).T)
    if masked:
        allowed = generator.random((ROWS, spec.action.mask_size)) < 0.4
        starts = np.cumsum([0, *spec.action.discrete_branches[:-1]])
        for start, chosen in zip(starts, discrete, strict=True):
            allowed[np.arange(ROWS), start + chosen] = True
        tensors["action_mask"] = torch.from_numpy(allowed)
    log_prob, _ = AutogradGradient(network).rows(Batch(tensors, ROWS))
    tensors["log_prob"] = torch.from_numpy(log_prob.numpy() + generator.normal(0, 0.2, ROWS).astype(np.float32))
    return Batch(tensors, ROWS)


def assert_equal(network: ActorCritic, batch: Batch, signals: list[str], weights: LossWeights) -> None:
    rows = np.random.default_rng(2).permutation(ROWS)[:40]
    results = []
    for gradient in (AutogradGradient(network), PlainGradient(network)):
        network.flat.gradient.zero_()
        gradient.load(batch, signals)
        losses = gradient.compute(rows, weights)
        results.append((network.flat.gradient.numpy().copy(), list(losses.stats().values())))
    assert np.abs(results[0][0]).max() > 1e-3
    np.testing.assert_allclose(results[1][0], results[0][0], atol=1e-5)
    np.testing.assert_allclose(results[1][1], results[0][1], atol=1e-5)
    assert 0 < results[0][1][-1] < 1


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    ("action", "masked"),
    [*((name, False) for name in ACTIONS), ("discrete", True), ("branches", True), ("hybrid", True)],
)
def test_actions_of_every_kind(action: str, masked: bool, shared: bool) -> None:
    network = build(ACTIONS[action], NetworkConfig(hidden_units=16, shared=shared, normalize=True), 1)
    assert_equal(network, rollout(network, ["a"], masked), ["a"], WEIGHTS)


@pytest.mark.parametrize("activation", ["tanh", "relu", "swish"])
@pytest.mark.parametrize("num_layers", [1, 3])
def test_bodies_of_every_kind(activation: Literal["tanh", "relu", "swish"], num_layers: int) -> None:
    config = NetworkConfig(hidden_units=8, num_layers=num_layers, activation=activation)
    network = build(ACTIONS["hybrid"], config, 1)
    assert_equal(network, rollout(network, ["a"], False), ["a"], WEIGHTS)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("clip_range", [None, 0.3])
@pytest.mark.parametrize("signals", [[], ["a"], ["a", "b", "c"]])
def test_value_heads_and_value_clipping(signals: list[str], clip_range: float | None, shared: bool) -> None:
    network = build(ACTIONS["discrete"], NetworkConfig(hidden_units=16, shared=shared), len(signals))
    weights = LossWeights(epsilon=0.1, beta=0.0, value_coefficient=0.7, value_clip_range=clip_range)
    assert_equal(network, rollout(network, signals, False), signals, weights)


@pytest.mark.parametrize("shared", [False, True])
def test_log_probabilities_and_values_of_whole_rollouts(shared: bool) -> None:
    network = build(ACTIONS["hybrid"], NetworkConfig(hidden_units=16, shared=shared, normalize=True), 2)
    batch = rollout(network, ["a", "b"], True).take(torch.arange(2500) % ROWS)
    log_prob, values = AutogradGradient(network).rows(batch)
    plain = PlainGradient(network)
    own_log_prob, own_values = plain.rows(batch)
    np.testing.assert_allclose(own_log_prob, log_prob, atol=1e-5)
    np.testing.assert_allclose(own_values, values, atol=1e-5)
    np.testing.assert_allclose(plain.values([part.numpy() for part in batch.observations]), values, atol=1e-5)


def test_a_ratio_that_overflows_leaves_the_gradient_finite_where_it_is_clipped() -> None:
    network = build(ACTIONS["gaussian"], NetworkConfig(hidden_units=16), 1)
    batch = rollout(network, ["a"], False)
    batch["log_prob"].fill_(-300.0)
    batch["advantage"].fill_(1.0)
    gradient = PlainGradient(network)
    gradient.load(batch, ["a"])
    losses = gradient.compute(np.arange(ROWS), WEIGHTS)
    assert losses.policy == pytest.approx(-1.2)
    assert torch.isfinite(network.flat.gradient).all()
