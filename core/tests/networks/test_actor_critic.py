"""Actor-critic networks: how they begin, what they share and what they save."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from agents_core.errors import UserError
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.initialisation import torch_generator
from agents_core.options import NetworkConfig
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec

DISCRETE = ActionSpec(0, (3,))


def test_weights_depend_on_the_seed_alone(make_network: Any) -> None:
    torch.manual_seed(1)
    one = make_network(DISCRETE, seed=3)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    assert torch.equal(one.flat.values, make_network(DISCRETE, seed=3).flat.values)
    assert torch.equal(before, torch.get_rng_state())
    assert not torch.equal(one.flat.values, make_network(DISCRETE, seed=4).flat.values)


def test_hidden_weights_are_orthogonal_and_the_policy_starts_indifferent(make_network: Any) -> None:
    network = make_network(DISCRETE)
    weight = network.actor_body.linear_layers[1].weight.detach()
    torch.testing.assert_close(weight @ weight.t(), 2 * torch.eye(16), atol=1e-5, rtol=0)
    outputs = network.act((torch.randn(50, 5),))
    assert outputs.abs().max() < 0.1
    assert network.log_std.numel() == 0


def test_a_shared_body_holds_fewer_weights_and_runs_to_the_same_outputs(make_network: Any) -> None:
    config = NetworkConfig(hidden_units=16, shared=True)
    network, separate = make_network(DISCRETE, config, num_values=2), make_network(DISCRETE, num_values=2)
    assert network.critic_body is network.actor_body
    assert len(network.flat.values) < len(separate.flat.values)
    observations = (torch.randn(7, 5),)
    outputs, values = network(observations)
    assert torch.equal(outputs, network.act(observations))
    assert torch.equal(values, network.value(observations))
    assert values.shape == (7, 2)


def test_more_value_heads_leave_the_actor_as_it_is(make_network: Any) -> None:
    observations = (torch.randn(7, 5),)
    assert torch.equal(
        make_network(DISCRETE, num_values=1).act(observations), make_network(DISCRETE, num_values=3).act(observations)
    )


def test_several_observations_of_any_shape_are_joined(make_network: Any) -> None:
    network = make_network(DISCRETE, shapes=((2,), (2, 3)))
    first, second = torch.randn(4, 2), torch.randn(4, 2, 3)
    body = network.actor_body
    joined = torch.cat([first, second.reshape(4, 6)], dim=1)
    expected = torch.tanh(body.linear_layers[1](torch.tanh(body.linear_layers[0](joined))))
    torch.testing.assert_close(body((first, second)), expected)


def test_only_vectors_are_normalised() -> None:
    spec = BehaviorSpec((ObservationSpec("v", (2,)), ObservationSpec("g", (2,), kind="goal")), DISCRETE)
    config = NetworkConfig(normalize=True)
    network = ActorCritic(spec, config, 1, torch.device("cpu"), torch_generator(np.random.SeedSequence(0)))
    assert [normaliser is not None for normaliser in network.normalisers] == [True, False]


@pytest.mark.parametrize("shared", [False, True])
def test_states_of_actor_and_critic_restore_the_network(make_network: Any, shared: bool) -> None:
    config = NetworkConfig(hidden_units=16, shared=shared, normalize=True)
    network, other = make_network(ActionSpec(2), config, seed=1), make_network(ActionSpec(2), config, seed=2)
    network.observe((np.random.default_rng(0).normal(3, 2, (50, 5)),))
    with torch.no_grad():
        network.log_std += 0.5
    observations = (torch.randn(7, 5),)
    other.load_actor_state(network.actor_state())
    assert torch.equal(other.act(observations), network.act(observations))
    assert not torch.equal(other.value(observations), network.value(observations))
    other.load_critic_state(network.critic_state())
    assert torch.equal(other.flat.values, network.flat.values)
    assert torch.equal(other.value(observations), network.value(observations))


def test_a_state_is_a_copy(make_network: Any) -> None:
    network = make_network(DISCRETE)
    weights = network.actor_state()["weights"]
    before = {name: weight.clone() for name, weight in weights.items()}
    network.flat.values.zero_()
    assert all(torch.equal(weight, before[name]) for name, weight in weights.items())


def test_weights_of_another_network_are_refused(make_network: Any) -> None:
    state = make_network(DISCRETE).actor_state()
    with pytest.raises(UserError, match=r"'actor_body.layers.0.weight' has shape \(16, 5\) there and \(8, 5\) here"):
        make_network(DISCRETE, NetworkConfig(hidden_units=8)).load_actor_state(state)
    with pytest.raises(UserError, match=r"'actor_body.layers.1.weight' has shape \(16, 16\) there and none here"):
        make_network(DISCRETE, NetworkConfig(hidden_units=16, num_layers=1)).load_actor_state(state)
