"""Policies: both ways of computing them act alike, and randomness is theirs alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.initialisation import torch_generator
from agents_core.networks.policy import NetworkPolicy
from agents_core.options import NetworkConfig
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec

HYBRID = ActionSpec(2, (3, 4))


class _Torch(ActorCritic):
    """The same network, computed by torch."""

    is_plain = False


def pair(config: NetworkConfig, action: ActionSpec = HYBRID) -> tuple[NetworkPolicy, NetworkPolicy]:
    """A plain policy and one of torch, with equal weights, statistics and generators."""
    spec = BehaviorSpec((ObservationSpec("a", (3,)), ObservationSpec("b", (2, 2), "float64")), action)
    policies = []
    for kind in (ActorCritic, _Torch):
        network = kind(spec, config, 1, torch.device("cpu"), torch_generator(np.random.SeedSequence(0)))
        network.flat.values += 0.1 * torch.randn(network.flat.values.shape, generator=torch.Generator().manual_seed(1))
        network.observe(observations(100, np.random.default_rng(1)))
        policies.append(NetworkPolicy(network, np.random.default_rng(5)))
    assert policies[0].network.is_plain
    assert not policies[1].network.is_plain
    return policies[0], policies[1]


def observations(rows: int, generator: np.random.Generator) -> tuple[np.ndarray, ...]:
    return generator.normal(2, 3, (rows, 3)).astype(np.float32), generator.normal(-1, 0.1, (rows, 2, 2))


@pytest.mark.parametrize("activation", ["tanh", "relu", "swish"])
@pytest.mark.parametrize("normalize", [False, True])
def test_plain_and_torch_policies_act_alike(activation: Any, normalize: bool) -> None:
    plain, reference = pair(NetworkConfig(hidden_units=32, activation=activation, normalize=normalize))
    generator = np.random.default_rng(2)
    for rows in (8, 1, 8, 100, 0, 8):
        seen = observations(rows, generator)
        mask = generator.random((rows, 7)) < 0.5
        mask[:, [0, 3]] = True
        for deterministic in (False, True):
            one = plain.act(seen, mask, deterministic=deterministic)
            two = reference.act(seen, mask, deterministic=deterministic)
            assert one.raw is not None
            assert two.raw is not None
            np.testing.assert_allclose(one.raw, two.raw, atol=1e-6 * max(1, np.abs(two.raw).max(initial=0)))
            np.testing.assert_allclose(one.continuous, two.continuous, atol=1e-6)
            np.testing.assert_array_equal(one.discrete, two.discrete)


def test_a_change_of_the_network_is_seen_at_once() -> None:
    plain, reference = pair(NetworkConfig(hidden_units=8, normalize=True))
    seen = observations(4, np.random.default_rng(0))
    for policy in (plain, reference):
        policy.act(seen)
        policy.network.flat.values *= 1.5
        policy.network.observe(observations(10, np.random.default_rng(3)))
    np.testing.assert_allclose(plain.act(seen).raw, reference.act(seen).raw, atol=1e-6)


def test_actions_are_not_overwritten_by_the_next_ones() -> None:
    plain, _ = pair(NetworkConfig(hidden_units=8))
    for deterministic in (False, True):
        first = plain.act(observations(4, np.random.default_rng(0)), deterministic=deterministic)
        assert first.raw is not None
        kept = first.raw.copy(), first.discrete.copy()
        plain.act(observations(4, np.random.default_rng(1)), deterministic=deterministic)
        np.testing.assert_array_equal(first.raw, kept[0])
        np.testing.assert_array_equal(first.discrete, kept[1])


def test_dtypes_are_those_of_the_columns() -> None:
    for policy in pair(NetworkConfig(hidden_units=8)):
        actions = policy.act(observations(4, np.random.default_rng(0)))
        assert (actions.continuous.dtype, actions.discrete.dtype) == (np.float32, np.int64)
        assert actions.raw is not None
        assert actions.raw.dtype == np.float32


def test_only_a_sample_without_a_generator_draws_from_the_policy() -> None:
    plain, other = pair(NetworkConfig(hidden_units=8))
    seen = observations(4, np.random.default_rng(0))
    plain.act(seen, deterministic=True)
    plain.act(seen, generator=np.random.default_rng(9))
    np.testing.assert_allclose(plain.act(seen).raw, other.act(seen).raw, atol=1e-6)


def test_wide_networks_are_left_to_torch(make_network: Any) -> None:
    assert make_network(HYBRID, NetworkConfig(hidden_units=512)).is_plain
    assert not make_network(HYBRID, NetworkConfig(hidden_units=1024)).is_plain
