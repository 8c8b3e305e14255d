"""Recurrent layers against an independent float64 calculation, and sequences without any part of padding."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
import torch
from agents_core.networks.initialisation import torch_generator
from agents_core.networks.memory import Memory, Sequences
from agents_core.networks.policy import NetworkPolicy
from agents_core.options import MemoryConfig, NetworkConfig
from agents_core.spec import ActionSpec
from torch import Tensor

Kind = Literal["lstm", "gru"]
CPU = torch.device("cpu")
LENGTHS = np.array([2, 7, 1, 4, 7])
INPUTS, SIZE = 3, 5


def make(kind: Kind) -> Memory:
    memory = Memory(MemoryConfig(type=kind, size=SIZE), INPUTS, torch_generator(np.random.SeedSequence(0)))
    with torch.no_grad():
        for parameter in memory.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    return memory


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def naive_step(memory: Memory, inputs: np.ndarray, state: np.ndarray) -> np.ndarray:
    """The next state of one agent by the formulas in the documentation of torch."""
    w = {name.removeprefix("layer."): part.detach().numpy().astype(float) for name, part in memory.named_parameters()}
    h = state[:SIZE]
    from_input = (w["weight_ih_l0"] @ inputs + w["bias_ih_l0"]).reshape(-1, SIZE)
    from_state = (w["weight_hh_l0"] @ h + w["bias_hh_l0"]).reshape(-1, SIZE)
    if memory.state_size == SIZE:
        reset, update = sigmoid(from_input[0] + from_state[0]), sigmoid(from_input[1] + from_state[1])
        return (1 - update) * np.tanh(from_input[2] + reset * from_state[2]) + update * h
    i, f, g, o = from_input + from_state
    cell = sigmoid(f) * state[SIZE:] + sigmoid(i) * np.tanh(g)
    return np.concatenate([sigmoid(o) * np.tanh(cell), cell])


def given(memory: Memory) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    rows = torch.randn(int(LENGTHS.sum()), INPUTS, generator=generator)
    return rows, torch.randn(len(LENGTHS), memory.state_size, generator=generator)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_sequences_of_different_lengths_go_on_from_their_own_state(kind: Kind) -> None:
    memory = make(kind)
    rows, before = given(memory)
    outputs, after = memory.unroll(rows, Sequences(LENGTHS, CPU), before)
    row = 0
    for sequence, length in enumerate(LENGTHS):
        state = before[sequence].numpy().astype(float)
        for _ in range(length):
            state = naive_step(memory, rows[row].numpy().astype(float), state)
            np.testing.assert_allclose(outputs[row].detach().numpy(), state[:SIZE], atol=1e-5)
            row += 1
        np.testing.assert_allclose(after[sequence].detach().numpy(), state, atol=1e-5)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_step_is_a_sequence_of_one_row(kind: Kind) -> None:
    memory = make(kind)
    rows, before = given(memory)
    rows = rows[: len(before)]
    for own, expected in zip(
        memory.step(rows, before),
        memory.unroll(rows, Sequences(np.ones(len(before), np.int64), CPU), before),
        strict=True,
    ):
        torch.testing.assert_close(own, expected)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("padding", [0.0, 50.0])
def test_gradients_are_those_of_padded_sequences_whatever_the_padding_holds(kind: Kind, padding: float) -> None:
    memory = make(kind)
    rows, before = given(memory)
    rows.requires_grad_()
    target = torch.randn(len(rows), SIZE, generator=torch.Generator().manual_seed(3))
    outputs, _ = memory.unroll(rows, Sequences(LENGTHS, CPU), before)
    packed = torch.autograd.grad((outputs - target).square().mean(), [*memory.parameters(), rows])

    time = np.concatenate([np.arange(length) for length in LENGTHS])
    sequence = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    padded = torch.full((LENGTHS.max(), len(LENGTHS), INPUTS), padding).index_put(
        (torch.from_numpy(time), torch.from_numpy(sequence)), rows
    )
    parts: Any = tuple(part.contiguous()[None] for part in before.split(SIZE, dim=1))
    all_outputs, _ = memory.layer(padded, parts if kind == "lstm" else parts[0])
    loss = (all_outputs[time, sequence] - target).square().mean()
    for own, expected in zip(packed, torch.autograd.grad(loss, [*memory.parameters(), rows]), strict=True):
        torch.testing.assert_close(own, expected, atol=1e-6, rtol=1e-4)


def test_first_weights_come_from_the_generator_alone_and_an_lstm_starts_remembering() -> None:
    config, state = MemoryConfig(size=SIZE), torch.get_rng_state()
    one, two = (Memory(config, INPUTS, torch_generator(np.random.SeedSequence(4))) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), state)
    for own, other in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(own, other)
    biases = dict(one.named_parameters())["layer.bias_ih_l0"].view(4, SIZE)
    assert biases.sum(dim=1).tolist() == [0, SIZE, 0, 0]


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_policy_without_memory_given_starts_from_zero_and_goes_on_from_what_it_gave(
    make_network: Any, kind: Kind
) -> None:
    config = NetworkConfig(hidden_units=8, memory=MemoryConfig(type=kind, size=SIZE))
    policy = NetworkPolicy(make_network(ActionSpec(2), config), np.random.default_rng(0))
    seen = np.random.default_rng(1).normal(size=(3, 4, 5)).astype(np.float32)
    assert policy.memory_size == (2 if kind == "lstm" else 1) * SIZE
    first = policy.act([seen[0]], deterministic=True)
    zero = policy.act([seen[0]], memory=np.zeros((4, policy.memory_size), np.float32), deterministic=True)
    np.testing.assert_array_equal(first.continuous, zero.continuous)
    second = policy.act([seen[1]], memory=first.memory, deterministic=True)
    assert (second.continuous != policy.act([seen[1]], deterministic=True).continuous).any()
    # Agents do not see one another's memory.
    assert first.memory is not None
    for agent in range(4):
        alone = policy.act([seen[1, agent : agent + 1]], memory=first.memory[agent : agent + 1], deterministic=True)
        np.testing.assert_allclose(alone.continuous[0], second.continuous[agent], atol=1e-6)
    assert policy.act([seen[0, :0]]).continuous.shape == (0, 2)


def test_memory_is_never_passed_by(make_network: Any) -> None:
    network = make_network(ActionSpec(2), NetworkConfig(hidden_units=SIZE, memory=MemoryConfig(size=SIZE)))
    for call in (network.act, network.value, network):
        with pytest.raises(RuntimeError, match="with a state"):
            call((torch.zeros(1, 5),))
