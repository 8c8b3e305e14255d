"""A buffer whose minibatches are in part demonstrations (Ball et al. 2023, "symmetric sampling")."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agents_core.columns import Array, Batch, Columns
from agents_core.contracts.buffer import Buffer, BufferContext
from agents_core.contracts.demonstration import Demonstration
from agents_core.demonstrations.loading import load_demonstrations
from agents_core.errors import UserError
from agents_core.replay.buffer import ReplayBuffer
from agents_core.replay.config import PrioritizedReplayConfig, ReplayConfig
from agents_core.replay.prioritized import PrioritizedReplayBuffer

NOT_OWN = -1
"""`row` of a demonstrated transition, which has no priority."""


def make_replay(context: BufferContext[ReplayConfig]) -> Buffer:
    """The buffer `replay`, with demonstrations where its section names some.

    Raises:
        DemonstrationError: They are missing, empty or of another spec.
        UserError: The buffer or they do not fit into memory.
    """
    return _with_demonstrations(ReplayBuffer(context), context)


def make_prioritized(context: BufferContext[PrioritizedReplayConfig]) -> Buffer:
    """The buffer `prioritized`, with demonstrations where its section names some.

    Raises:
        DemonstrationError: They are missing, empty or of another spec.
        UserError: The buffer or they do not fit into memory.
    """
    return _with_demonstrations(PrioritizedReplayBuffer(context), context)


def _with_demonstrations(own: Buffer, context: BufferContext[Any]) -> Buffer:
    config: ReplayConfig = context.config
    if config.demo_path is None:
        return own
    demonstration = load_demonstrations(config.demo_path, spec=context.spec, registry=context.registry)
    sized = replace(context, config=ReplayConfig(buffer_size=len(demonstration)))
    try:
        demonstrated = ReplayBuffer(sized)
    except UserError:
        raise UserError(
            f"behaviors.{context.behavior}.trainer.buffer.demo_path: {len(demonstration)} transitions do not fit into "
            "memory beside the buffer; name fewer demonstrations, or set a smaller buffer_size"
        ) from None
    demonstrated.add(transitions_of(demonstration, context.memory_size))
    return DemonstratedBuffer(own, demonstrated, config.demo_fraction)


def transitions_of(demonstration: Demonstration, memory_size: int) -> Columns:
    """Every transition of a demonstration as buffers take them; memories are as good as empty.

    The episodes keep their order, so that pieces of several steps can be sampled.
    """
    episodes = demonstration.episodes
    fields = {**episodes.columns.fields, "tick": np.arange(len(episodes))}
    for index, array in enumerate(episodes.next_observations()):
        fields[f"next_obs.{index}"] = array
    if "action_mask" in fields:
        following = np.minimum(np.arange(1, len(episodes) + 1), len(episodes) - 1)
        fields["next_action_mask"] = fields["action_mask"][following]
        fields["next_action_mask"][episodes.last_rows] = True
    if memory_size:
        # Nothing but the start of an episode has a state of zero; what was seen since is to be brought up to date.
        memory = np.full((len(episodes), memory_size), np.finfo(np.float32).tiny, np.float32)
        memory[[0, *(episodes.last_rows[:-1] + 1)]] = 0
        fields["memory.actor"] = memory
    return Columns(fields)


class DemonstratedBuffer(Buffer):
    """Passes everything on to a buffer, but for samples, which are joined with demonstrations.

    Only the buffer's own transitions are saved and have priorities; demonstrated ones weigh 1.

    Args:
        own: What agents do is kept there.
        demonstrated: Demonstrations, complete.
        fraction: Part of each minibatch that they are, in the mean.
    """

    def __init__(self, own: Buffer, demonstrated: Buffer, fraction: float) -> None:
        self._own = own
        self._demonstrated = demonstrated
        self._fraction = fraction
        self.capacity = own.capacity
        self.is_saved = own.is_saved
        self.compression = own.compression

    def add(self, transitions: Columns) -> None:
        self._own.add(transitions)

    def __len__(self) -> int:
        return len(self._own)

    def sample(self, batch_size: int, generator: np.random.Generator) -> Batch:
        own, shown = self._split(batch_size, generator)
        return _joined(
            self._own.sample(own, generator) if own else None,
            self._demonstrated.sample(shown, generator) if shown else None,
        )

    def sample_sequences(self, count: int, length: int, generator: np.random.Generator) -> Batch:
        own, shown = self._split(count, generator)
        return _joined(
            self._own.sample_sequences(own, length, generator) if own else None,
            self._demonstrated.sample_sequences(shown, length, generator) if shown else None,
        )

    def _split(self, count: int, generator: np.random.Generator) -> tuple[int, int]:
        """How many are the agents' own and how many demonstrated, rounded at random."""
        shown = int(count * self._fraction + generator.random())
        return count - shown, shown

    def update_priorities(self, rows: Tensor, errors: Tensor) -> None:
        is_own = rows != NOT_OWN
        self._own.update_priorities(rows[is_own], errors[is_own])

    @property
    def stored(self) -> range:
        return self._own.stored

    def export(self, numbers: range) -> dict[str, Array]:
        return self._own.export(numbers)

    def export_rest(self) -> dict[str, Any]:
        return self._own.export_rest()

    def restore(self, pieces: Iterable[tuple[range, Mapping[str, Array]]], rest: Mapping[str, Any]) -> None:
        self._own.restore(pieces, rest)

    def state_dict(self) -> dict[str, Any]:
        return self._own.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._own.load_state_dict(state)


def _joined(own: Batch | None, shown: Batch | None) -> Batch:
    """The rows of both; a field is joined when it is first read."""
    parts = [] if own is None else [own]
    if shown is not None:
        fields: dict[str, Callable[[], Tensor]] = {name: partial(shown.__getitem__, name) for name in shown}
        fields["row"] = partial(torch.full, (len(shown),), NOT_OWN, device=shown["row"].device)
        parts.append(Batch(fields, len(shown)))
    if len(parts) == 1:
        return parts[0]
    names = dict.fromkeys(name for part in parts for name in part)
    return Batch({name: partial(_joined_field, parts, name) for name in names}, sum(map(len, parts)))


def _joined_field(parts: Sequence[Batch], name: str) -> Tensor:
    model = next(part[name] for part in parts if name in part)
    absent = 1 if name.endswith("mask") or name == "weight" else 0
    filled = []
    for part in parts:
        has = name in part
        filled.append(part[name] if has else model.new_full((len(part), *model.shape[1:]), absent))
    return torch.cat(filled)
