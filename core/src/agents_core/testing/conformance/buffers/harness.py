"""Buffers under test: making them, and telling what they gave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch

from agents_core.columns import Batch
from agents_core.contracts.buffer import Buffer
from agents_core.options import ConfigModel
from agents_core.registry import Component
from agents_core.spec import BehaviorSpec
from agents_core.testing.conformance.buffers.stream import Stream
from agents_core.testing.conformance.checks import require
from agents_core.testing.conformance.component import ComponentConformance
from agents_core.testing.contexts import buffer_context
from agents_core.testing.transitions import BEHAVIORS

Ints = npt.NDArray[np.int64]

CAPACITY = 48
"""Transitions that a buffer under test keeps."""
_TESTED = ("several observations, hybrid actions", "a vector, discrete actions")


class BufferChecks(ComponentConformance):
    """Base of the checks of buffers.

    Attributes:
        capacity_option: The option that says how many transitions are kept.
    """

    kind = "buffer"
    capacity_option: ClassVar[str] = "buffer_size"

    def make(self, spec: BehaviorSpec, *, capacity: int = CAPACITY) -> Buffer:
        """A buffer as a run would make it."""
        return make_buffer(self.found(), self.options(**{self.capacity_option: capacity}), spec)

    def spawned(self) -> tuple[str, tuple[object, ...]]:
        options = self.options(**{self.capacity_option: CAPACITY})
        return f"{__name__}:sampled_rows", (self.found(), options, BEHAVIORS[_TESTED[0]])

    def specs(self) -> Iterator[tuple[str, BehaviorSpec]]:
        """Behaviors that each check is made with, by a title for messages."""
        yield from ((title, BEHAVIORS[title]) for title in _TESTED)

    def filled(self, count: int) -> Iterator[tuple[str, Stream, Buffer]]:
        """Buffers that so many transitions were added to, in portions of different sizes."""
        for title, spec in self.specs():
            stream, buffer = Stream(spec), self.make(spec)
            stream.add_to(buffer, count)
            yield title, stream, buffer


def make_buffer(component: Component, config: ConfigModel, spec: BehaviorSpec) -> Buffer:
    """A buffer as a run would make it."""
    context = buffer_context(config, spec)
    buffer = component.load_factory()(context)
    require(isinstance(buffer, Buffer), "the factory returns a Buffer", type(buffer).__name__, "a Buffer")
    made: Buffer = buffer
    return made


def sampled_rows(component: Component, config: ConfigModel, spec: BehaviorSpec) -> list[int]:
    """Numbers of the transitions in a sample."""
    buffer = make_buffer(component, config, spec)
    Stream(spec).add_to(buffer, 3 * CAPACITY)
    rows: list[int] = numbers_of(buffer.sample(32, np.random.default_rng(0))).tolist()
    return rows


def numbers_of(batch: Batch) -> Ints:
    """Number of each transition, which its reward tells."""
    return batch["reward"].cpu().numpy().astype(np.int64)


def shown(tensor: torch.Tensor) -> str:
    return f"{tensor.flatten()[:6].tolist()}, …"
