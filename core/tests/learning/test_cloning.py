"""Cloning demonstrations: rows, sequences, steps, strength and state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from agents_core.columns import Columns
from agents_core.errors import NonFiniteError
from agents_core.learning.cloning import BehavioralCloning, Cloner, validate
from agents_core.learning.cloning_config import CloningConfig
from agents_core.learning.cloning_loss import ExpertActions, cloning_error
from agents_core.learning.cloning_rows import expert_batch, expert_rows
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.initialisation import torch_generator
from agents_core.options import MemoryConfig, NetworkConfig
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.demonstrations import HYBRID_SPEC, random_demonstration

CPU = torch.device("cpu")
SEED = np.random.SeedSequence(5)
LENGTHS = (7, 3, 1, 9, 6)
MEMORY = NetworkConfig(hidden_units=8, shared=True, memory=MemoryConfig(size=8, sequence_length=4))
VECTOR = BehaviorSpec((ObservationSpec("seen", (3,)),), ActionSpec(2, (3,)))


def make_network(config: NetworkConfig, spec: BehaviorSpec = VECTOR) -> ActorCritic:
    return ActorCritic(spec, config, 0, CPU, torch_generator(np.random.SeedSequence(1)))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_each_sequence_goes_on_from_the_state_that_its_episode_has_led_to(kind: Any) -> None:
    config = MEMORY.model_copy(update={"memory": MemoryConfig(type=kind, size=8, sequence_length=4)})
    network = make_network(config)
    episodes = random_demonstration(VECTOR, LENGTHS, masked=True).episodes
    rows = expert_rows(network, episodes.columns, episodes.lengths, "nll")
    rows.refresh()
    units = np.array([5, 0, 4, 1])  # Sequences 0 and 1 are rows 0..3 and 4..6; 4 and 5 are rows 11..14 and 15..18.
    assert rows.unit_lengths.tolist() == [4, 3, 3, 1, 4, 4, 1, 4, 2]
    found = rows.error(units).nll
    expected = []
    for first, count in ((11, 9), (0, 7)):
        one = expert_batch(episodes.columns.take(slice(first, first + count)), CPU)
        state, outputs = torch.zeros(1, network.memory_size), []
        for row in range(count):
            seen = network.actor_body([observation[row : row + 1] for observation in one.observations])
            hidden, state = network.actor_memory.step(seen, state)
            outputs.append(network.action_head(hidden))
        error = cloning_error(torch.cat(outputs), network.log_std, ExpertActions.of(one), network.form, "nll")
        expected.append(error.nll)
    wanted = torch.cat([expected[0][4:8], expected[1][:4], expected[0][:4], expected[1][4:]])
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("config", [NetworkConfig(hidden_units=8, shared=True), MEMORY])
def test_a_validation_has_every_row_once(config: NetworkConfig) -> None:
    network = make_network(config, HYBRID_SPEC)
    episodes = random_demonstration(HYBRID_SPEC, LENGTHS).episodes
    rows = expert_rows(network, episodes.columns, episodes.lengths, "nll")
    rows.refresh()
    every = rows.error(np.arange(len(rows.unit_lengths)))
    stats = validate(rows, HYBRID_SPEC)
    assert stats.keys() == {"nll", "error", "accuracy"}
    assert stats["nll"] == pytest.approx(float(every.nll.mean().detach()), rel=1e-5)
    assert len(every.nll) == sum(LENGTHS)


@pytest.mark.parametrize("config", [NetworkConfig(hidden_units=32, shared=True), MEMORY])
@pytest.mark.parametrize("batch_size", [8, 1000])
def test_a_demonstration_is_learned_also_where_it_is_smaller_than_the_batch(
    config: NetworkConfig, batch_size: int
) -> None:
    network = make_network(config)
    generator = np.random.default_rng(0)
    seen = generator.normal(size=(26, 3)).astype(np.float32)
    columns = Columns(
        {
            "obs.0": seen,
            "action.continuous": np.clip(seen[:, :2], -1, 1),
            "action.discrete": np.argmax(seen, axis=1)[:, None],
        }
    )
    rows = expert_rows(network, columns, np.array([20, 6]), "nll")
    cloner = Cloner(network, rows, batch_size, SEED)
    trained = 0
    while trained < 300 * min(batch_size, 26):
        stats, count = cloner.train(200, 0.01, "here")
        assert 200 <= count < 226
        trained += count
    assert stats["accuracy"] > 0.95
    assert stats["error"] < 0.15


def test_states_continue_bit_for_bit() -> None:
    episodes = random_demonstration(VECTOR, LENGTHS).episodes

    def start() -> tuple[ActorCritic, Cloner]:
        network = make_network(MEMORY)
        return network, Cloner(network, expert_rows(network, episodes.columns, episodes.lengths, "nll"), 5, SEED)

    network, cloner = start()
    cloner.train(33, 0.01, "")
    weights, state = network.flat.values.clone(), cloner.state_dict()
    stats = cloner.train(40, 0.01, "")
    other, repeated = start()
    other.flat.values.copy_(weights)
    repeated.load_state_dict(state)
    assert repeated.train(40, 0.01, "") == stats
    assert torch.equal(other.flat.values, network.flat.values)


def test_what_is_not_finite_is_named() -> None:
    network = make_network(NetworkConfig(hidden_units=8, shared=True))
    episodes = random_demonstration(VECTOR, LENGTHS).episodes
    cloner = Cloner(network, expert_rows(network, episodes.columns, episodes.lengths, "mse"), 5, SEED)
    network.flat.values.fill_(float("nan"))
    with pytest.raises(NonFiniteError, match=r"behavior 'x'.*loss"):
        cloner.train(1, 0.01, "behavior 'x'")


def make_cloning(**options: Any) -> tuple[ActorCritic, BehavioralCloning]:
    network = make_network(NetworkConfig(hidden_units=8))
    config = CloningConfig(demo_path="unused.h5", **options)
    return network, BehavioralCloning(network, config, 10, "x", SEED, random_demonstration(VECTOR, LENGTHS))


def test_the_strength_falls_linearly_and_at_the_step_that_it_is_for() -> None:
    _, cloning = make_cloning(strength=0.5, steps=1000)
    assert [cloning.strength(step) for step in (0, 250, 500, 1000, 2000)] == [0.5, 0.375, 0.25, 0.0, 0.0]
    assert make_cloning(strength=0.5)[1].strength(10**9) == 0.5


def test_strength_times_learning_rate_is_the_step() -> None:
    moved = []
    for strength, step, rate in ((1.0, 0, 0.01), (0.5, 0, 0.02), (1.0, 500, 0.02)):
        network, cloning = make_cloning(strength=strength, steps=1000, num_epoch=1)
        assert cloning.update(step, rate)["train/cloning_strength"] == pytest.approx(strength * (1 - step / 1000))
        moved.append(network.flat.values.clone())
    assert torch.equal(moved[0], moved[1])
    assert torch.equal(moved[0], moved[2])


def test_once_the_strength_is_0_nothing_is_cloned() -> None:
    network, cloning = make_cloning(steps=1000)
    before = network.flat.values.clone()
    assert cloning.update(1000, 0.01) == {"train/cloning_strength": 0.0}
    assert torch.equal(network.flat.values, before)


@pytest.mark.parametrize(("samples", "passes", "steps"), [(0, 3, 9), (10, 2, 2), (11, 1, 2), (1000, 1, 3)])
def test_passes_and_samples_say_how_many_steps_are_taken(samples: int, passes: int, steps: int) -> None:
    # 26 rows in minibatches of 10.
    _, cloning = make_cloning(samples_per_update=samples, num_epoch=passes)
    cloning.update(0, 0.01)
    assert cloning.state_dict()["optimiser"]["steps"] == steps


def test_the_critic_and_with_squared_errors_the_deviation_stay_as_they_are() -> None:
    network, cloning = make_cloning()
    before = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}
    cloning.update(0, 0.01)
    same = {name for name, parameter in network.named_parameters() if torch.equal(parameter, before[name])}
    assert same == {name for name in before if name.startswith(("critic_body", "value_head", "log_std"))}
