"""Whatever agents see and do, with memory or without: it trains, is saved, and acts the same once loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agents_core.columns import Array
from agents_core.contracts.environment import Actions
from agents_core.options import MemoryConfig, NetworkConfig
from agents_core.schedules import Schedule
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.column_environment import Bools, ColumnEnvironment, Floats, Int64s
from agents_core.testing.driver import Driver
from agents_core.training.state_files import decode_arrays, dump_document, encode_arrays, parse_document
from agents_core.training.state_tree import join_tree, split_tree
from agents_ppo.config import PPOConfig
from ppo_cases import make_trainer

VECTOR, IMAGE = ObservationSpec("vector", (3,)), ObservationSpec("camera", (20, 20, 3), "uint8", "image")
OBSERVATIONS = {
    "vector": (VECTOR,),
    "image": (IMAGE,),
    "entities": (ObservationSpec("boxes", (4, 3), kind="entities"),),
    "two": (VECTOR, IMAGE),
    "goal": (VECTOR, ObservationSpec("target", (2,), kind="goal")),
}
ACTIONS = {
    "continuous": ActionSpec(2),
    "discrete": ActionSpec(0, (3,)),
    "branches": ActionSpec(0, (2, 3)),
    "hybrid": ActionSpec(1, (3,)),
}
CONFIG = PPOConfig(buffer_size=64, batch_size=32, num_epoch=2, learning_rate=Schedule(1e-3))


class Noise(ColumnEnvironment):
    """Random observations, rewards and lengths of episodes; of several branches some choices are forbidden."""

    def __init__(self, spec: BehaviorSpec, agents: int) -> None:
        super().__init__("Noise", spec, agents)
        self._allowed: Bools | None = None

    def start(self, rows: Int64s) -> None:
        """Nothing lasts."""

    def observe(self) -> tuple[Array, ...]:
        return tuple(
            self.generator.integers(0, 256, (self.agents, *part.shape)).astype(np.uint8)
            if part.dtype == "uint8"
            else self.generator.normal(size=(self.agents, *part.shape)).astype(np.float32)
            for part in self._spec.observations
        )

    def mask(self) -> Bools | None:
        if len(self._spec.action.discrete_branches) < 2:
            return None
        self._allowed = self.generator.random((self.agents, self._spec.action.mask_size)) < 0.5
        self._allowed[:, [0, 2]] = True
        return self._allowed

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        if self._allowed is not None:
            first = np.concatenate([[0], np.cumsum(self._spec.action.discrete_branches)[:-1]])
            assert np.take_along_axis(self._allowed, first + actions.discrete, axis=1).all()
        assert (np.abs(actions.continuous) <= 1).all()
        ended = self.generator.random(self.agents) < 0.2
        truncated = self.generator.random(self.agents) < 0.5
        return self.generator.normal(size=self.agents).astype(np.float32), ended & ~truncated, ended & truncated


def saved_and_loaded(tree: dict[str, Any], folder: Path) -> Any:
    """What is left of a state after its way through files."""
    document, arrays = split_tree(tree)
    (folder / "arrays").write_bytes(encode_arrays(arrays))
    (folder / "document").write_bytes(dump_document(document))
    stored = decode_arrays((folder / "arrays").read_bytes(), folder)
    return join_tree(parse_document((folder / "document").read_bytes(), folder), stored, folder)


def check(spec: BehaviorSpec, network: NetworkConfig, folder: Path) -> None:
    loop = Driver(Noise(spec, 8), make_trainer(spec, CONFIG, network))
    before = loop.trainer.policy.network.flat.values.clone()
    loop.advance(2 * CONFIG.buffer_size)
    assert np.isfinite(list(loop.stats[-1].values())).all()
    assert (loop.trainer.policy.network.flat.values != before).float().mean() > 0.5
    other = make_trainer(spec, CONFIG, network, seed=5)
    other.load_policy_state(saved_and_loaded(loop.trainer.policy_state(), folder))
    other.load_state_dict(saved_and_loaded(loop.trainer.state_dict(), folder))
    steps = loop.environment.reset(seed=9).behaviors["Noise"].decision
    memory = None
    for deterministic in (True, False, False):
        one, two = (
            trainer.policy.act(steps.observations, steps.action_mask, memory=memory, deterministic=deterministic)
            for trainer in (loop.trainer, other)
        )
        for name in ("continuous", "discrete", "raw", "memory"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        memory = one.memory
        assert (memory is None) == (network.memory is None)


@pytest.mark.parametrize("memory", [None, MemoryConfig(size=8, sequence_length=4)], ids=["memoryless", "memory"])
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("observations", OBSERVATIONS)
def test_every_observation_with_every_action(observations: str, action: str, memory: Any, tmp_path: Path) -> None:
    spec = BehaviorSpec(OBSERVATIONS[observations], ACTIONS[action])
    check(spec, NetworkConfig(hidden_units=16, num_layers=1, normalize=True, memory=memory), tmp_path)


@pytest.mark.parametrize("memory", [None, MemoryConfig(size=8, sequence_length=4)], ids=["memoryless", "memory"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("action", ACTIONS)
def test_goals_that_make_weights(action: str, shared: bool, memory: Any, tmp_path: Path) -> None:
    spec = BehaviorSpec(OBSERVATIONS["goal"], ACTIONS[action])
    check(spec, NetworkConfig(hidden_units=16, conditioning="hyper", shared=shared, memory=memory), tmp_path)


@pytest.mark.parametrize("memory", [None, MemoryConfig(type="gru", size=8, sequence_length=4, burn_in=2)])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("action", ["continuous", "hybrid"])
def test_every_form_of_a_gaussian(action: str, shared: bool, memory: Any, tmp_path: Path) -> None:
    spec = BehaviorSpec((VECTOR,), ACTIONS[action])
    config = NetworkConfig(hidden_units=16, num_layers=1, std="state", squash=True, shared=shared, memory=memory)
    check(spec, config, tmp_path)
