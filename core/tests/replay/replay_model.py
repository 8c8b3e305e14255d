"""A naive model of a replay buffer, and transitions of agents that come, go and act as they like."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from agents_core.columns import Array, Batch, Columns
from agents_core.contracts.buffer import BufferContext
from agents_core.replay.buffer import ReplayBuffer
from agents_core.replay.config import ReplayConfig
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec

SPEC = BehaviorSpec(
    (
        ObservationSpec("position", (2,)),
        ObservationSpec("picture", (2, 3, 1), "uint8", "image"),
        ObservationSpec("exact", (1,), "float64"),
    ),
    ActionSpec(2, (3,)),
)
SMALL_SPEC = BehaviorSpec((ObservationSpec("position", (2,)),), ActionSpec(1))


def make_context(spec: BehaviorSpec = SPEC, *, memory_size: int = 0, **options: Any) -> BufferContext[ReplayConfig]:
    return BufferContext("walker", ReplayConfig(**options), spec, torch.device("cpu"), memory_size, 1000)


def make_buffer(buffer_size: int, spec: BehaviorSpec = SPEC, **options: Any) -> ReplayBuffer:
    return ReplayBuffer(make_context(spec, buffer_size=buffer_size, **options))


Transition = dict[str, Array]
"""One transition: each field without its first axis."""


@dataclass
class World:
    """Agents whose observations are never seen twice, so that a mixed-up row shows.

    Attributes:
        masked: Whether actions are masked.
    """

    spec: BehaviorSpec = SPEC
    masked: bool = True
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    episode: int = 0
    seen: int = 0
    agents: dict[int, tuple[int, Transition]] = field(default_factory=dict)

    def restart(self) -> None:
        """Begin all episodes anew without an end."""
        self.agents.clear()

    def act(self, agent: int, end: str = "") -> Transition:
        """One transition of an agent; `end` is empty, `terminated` or `truncated`."""
        if agent not in self.agents:
            self.agents[agent] = (self.episode, self._look())
            self.episode += 1
        episode, now = self.agents[agent]
        after = self._look()
        if end:
            if self.masked:
                after["action_mask"][...] = True
            del self.agents[agent]
        else:
            self.agents[agent] = (episode, after)
        return {
            **now,
            **{f"next_{name}": value for name, value in after.items()},
            "action.continuous": self.rng.random(self.spec.action.continuous_size, np.float32),
            "action.discrete": self.rng.integers(0, 3, len(self.spec.action.discrete_branches)),
            "reward": np.float32(self.rng.random()),
            "terminated": np.bool_(end == "terminated"),
            "truncated": np.bool_(end == "truncated"),
            "agent_id": np.int64(agent),
            "episode_id": np.int64(episode),
        }

    def _look(self) -> Transition:
        self.seen += 1
        seen = {
            f"obs.{i}": np.full(observation.shape, self.seen % 251, observation.dtype) + self._exact(i)
            for i, observation in enumerate(self.spec.observations)
        }
        seen = {
            name: array.astype(observation.dtype)
            for (name, array), observation in zip(seen.items(), self.spec.observations, strict=True)
        }
        if self.masked:
            seen["action_mask"] = self.rng.random(self.spec.action.mask_size) < 0.5
        return seen

    def _exact(self, i: int) -> float:
        return 0.0 if self.spec.observations[i].dtype == "uint8" else self.seen


def columns(transitions: list[Transition]) -> Columns:
    return Columns({name: np.stack([transition[name] for transition in transitions]) for name in transitions[0]})


class NaiveBuffer:
    """A list of the newest transitions."""

    def __init__(self, buffer_size: int) -> None:
        self.buffer_size = buffer_size
        self.transitions: list[Transition] = []

    def add(self, transitions: list[Transition]) -> None:
        self.transitions = [*self.transitions, *transitions][-self.buffer_size :]

    def sequence(self, start: int, length: int) -> list[Transition]:
        """What follows transition `start` in its episode, itself included."""
        transition = self.transitions[start]
        key = (int(transition["agent_id"]), int(transition["episode_id"]))
        later = [
            other for other in self.transitions[start:] if (int(other["agent_id"]), int(other["episode_id"])) == key
        ]
        return later[:length]


def batch_rows(batch: Batch) -> list[Transition]:
    arrays = {name: batch[name].numpy() for name in batch if name != "row"}
    return [{name: array[i] for name, array in arrays.items()} for i in range(len(batch))]


def identity(transition: Transition) -> tuple[bytes, ...]:
    """All of a transition, comparable."""
    return tuple(
        np.asarray(transition[name]).tobytes()
        for name in sorted(transition)
        if name not in ("is_valid", "weight", "row")
    )


class EveryRow(np.random.Generator):
    """Draws 0, 1, 2, … so that a test sees every row."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def integers(self, low: int, high: int, size: int) -> Array:  # type: ignore[override]
        return low + np.arange(size) % (high - low)


def contents(buffer: ReplayBuffer) -> list[Transition]:
    """Every transition of the buffer once."""
    return batch_rows(buffer.sample(len(buffer), EveryRow()))
