"""Signals and transitions to test them with."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from agents_core.columns import Batch
from agents_core.contracts.reward_signal import RewardSignalContext
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_reward_curiosity.config import CuriosityConfig
from agents_reward_curiosity.signal import CuriosityReward

CPU = torch.device("cpu")

OBSERVATIONS = {
    "vector": (ObservationSpec("place", (3,)),),
    "image": (ObservationSpec("camera", (20, 20, 3), "uint8", "image"),),
    "planes": (ObservationSpec("board", (5, 5, 2), "bool", "image"),),
    "entities": (ObservationSpec("others", (4, 3), "float32", "entities"),),
    "several": (
        ObservationSpec("camera", (20, 20, 3), "uint8", "image"),
        ObservationSpec("place", (3,)),
        ObservationSpec("aim", (2,), "float32", "goal"),
    ),
}
ACTIONS = {
    "continuous": ActionSpec(2),
    "discrete": ActionSpec(discrete_branches=(3,)),
    "branches": ActionSpec(discrete_branches=(3, 2)),
    "hybrid": ActionSpec(2, (3, 2)),
}
SMALL = {"network": {"hidden_units": 8, "num_layers": 1}, "model_units": 16, "learning_rate": 1e-3}


def make_spec(observations: str = "vector", actions: str = "hybrid") -> BehaviorSpec:
    return BehaviorSpec(OBSERVATIONS[observations], ACTIONS[actions])


def make_signal(spec: BehaviorSpec, seed: int = 0, **options: object) -> CuriosityReward:
    """A small signal with options of its config."""
    config = CuriosityConfig.model_validate({**SMALL, **options})
    return CuriosityReward(RewardSignalContext("curiosity", config, spec, CPU, np.random.SeedSequence(seed), 1000))


def make_batch(spec: BehaviorSpec, rows: int = 32, seed: int = 0, **fields: object) -> Batch:
    """Random transitions of agents 0, 1, 2, 3 in turn; some fields may be given."""
    rng = np.random.default_rng(seed)
    action = spec.action
    arrays: dict[str, object] = {
        "action.continuous": rng.uniform(-1, 1, (rows, action.continuous_size)).astype(np.float32),
        "action.discrete": rng.integers(
            0, np.array(action.discrete_branches, int), (rows, len(action.discrete_branches))
        ),
        "reward": rng.normal(size=rows).astype(np.float32),
        "terminated": np.zeros(rows, np.bool_),
        "truncated": np.zeros(rows, np.bool_),
        "agent_id": np.arange(rows) % 4,
        "episode_id": np.arange(rows) % 4,
        "tick": np.arange(rows) // 4,
    }
    for index, observation in enumerate(spec.observations):
        for prefix in ("obs", "next_obs"):
            arrays[f"{prefix}.{index}"] = _draw(observation, rows, rng)
    return Batch({name: torch.as_tensor(value) for name, value in {**arrays, **fields}.items()}, rows)


def _draw(observation: ObservationSpec, rows: int, rng: np.random.Generator) -> np.ndarray:
    shape = (rows, *observation.shape)
    if observation.dtype == "uint8":
        return rng.integers(0, 256, shape).astype(np.uint8)
    if observation.dtype == "bool":
        return rng.random(shape) < 0.5
    return rng.normal(size=shape).astype(np.float32)


def train(signal: CuriosityReward, batch: Batch, updates: int) -> Mapping[str, float]:
    """Statistics of the last of some updates on the same rows."""
    for _ in range(updates):
        stats = signal.update(batch)
    return stats
