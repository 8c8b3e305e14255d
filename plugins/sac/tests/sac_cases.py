"""A trainer on its own, and transitions without an environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from agents_core.columns import Array, Batch, Columns
from agents_core.contracts.buffer import Buffer
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.options import NetworkConfig
from agents_core.replay.buffer import ReplayBuffer
from agents_core.replay.config import ReplayConfig
from agents_core.spec import BehaviorSpec
from agents_core.testing.contexts import MAX_STEPS, buffer_context, trainer_context
from agents_core.testing.transitions import make_transitions
from agents_sac.config import SACConfig
from agents_sac.trainer import SACTrainer


class ListBuffer(Buffer):
    """Keeps everything in the order in which it came; slow and simple.

    Attributes:
        errors: What `update_priorities` was told last, by row.
        weighted: Whether samples carry a weight of ½.
    """

    def __init__(self, weighted: bool = False) -> None:
        self.table: dict[str, list[Array]] = {}
        self.errors: dict[int, float] = {}
        self.weighted = weighted

    def add(self, transitions: Columns) -> None:
        for name, array in transitions.fields.items():
            self.table.setdefault(name, []).extend(np.array(array))

    def _rows(self, rows: Array) -> dict[str, torch.Tensor]:
        fields = {name: torch.as_tensor(np.stack([column[row] for row in rows])) for name, column in self.table.items()}
        fields["row"] = torch.as_tensor(rows)
        if self.weighted:
            fields["weight"] = torch.full((len(rows),), 0.5)
        return fields

    def sample(self, batch_size: int, generator: np.random.Generator) -> Batch:
        return Batch(self._rows(generator.integers(len(self), size=batch_size)), batch_size)

    def sample_sequences(self, count: int, length: int, generator: np.random.Generator) -> Batch:
        episode = np.array(self.table["episode_id"])
        rows, valid = [], []
        for start in generator.integers(len(self), size=count):
            own = np.flatnonzero(episode == episode[start])
            own = own[own >= start][:length]
            rows += [*own, *[own[-1]] * (length - len(own))]
            valid += [True] * len(own) + [False] * (length - len(own))
        return Batch({**self._rows(np.array(rows)), "is_valid": torch.tensor(valid)}, len(rows))

    def update_priorities(self, rows: torch.Tensor, errors: torch.Tensor) -> None:
        self.errors |= dict(zip(rows.tolist(), errors.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.table.get("reward", ()))

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        raise NotImplementedError


def make_trainer(
    spec: BehaviorSpec,
    network: NetworkConfig | None = None,
    *,
    signals: Mapping[str, RewardSignal] | None = None,
    seed: int = 0,
    max_steps: int = MAX_STEPS,
    make_buffer: Callable[[int], Buffer] | None = lambda _: ListBuffer(),
    **options: object,
) -> SACTrainer:
    """A trainer with options of its config and a small network, with the extrinsic reward unless signals are given."""
    context = trainer_context(
        SACConfig.model_validate({"buffer_init_steps": 0, "batch_size": 32, **options}),
        spec,
        network=network or NetworkConfig(hidden_units=32, activation="relu"),
        signals=signals,
        seed=seed,
        max_steps=max_steps,
        make_buffer=make_buffer,
    )
    return SACTrainer(context)


def replay(spec: BehaviorSpec, capacity: int = 20_000) -> Callable[[int], Buffer]:
    """Makes core's own buffer."""
    config = ReplayConfig(buffer_size=capacity)
    return lambda memory_size: ReplayBuffer(buffer_context(config, spec, memory_size=memory_size))


def random_transitions(spec: BehaviorSpec, rows: int, seed: int = 0, *, masked: bool = False) -> Columns:
    """Rows of one agent with random contents, in episodes that end by the task or by a limit."""
    columns = make_transitions(spec, agents=1, steps=rows, seed=seed)
    return Columns({name: array for name, array in columns.fields.items() if masked or not name.endswith("mask")})
