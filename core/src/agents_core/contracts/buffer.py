"""The contract of buffers that off-policy trainers sample from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from agents_core.columns import Array, Batch, Columns
from agents_core.spec import BehaviorSpec

if TYPE_CHECKING:
    import torch

    from agents_core.registry import Registry

ConfigT = TypeVar("ConfigT")


@dataclass(frozen=True, slots=True)
class BufferContext(Generic[ConfigT]):
    """What a buffer factory is called with.

    Attributes:
        behavior: Name of the behavior, for messages.
        config: The buffer's own config model, validated.
        spec: What the behavior sees and does.
        device: Where minibatches go.
        memory_size: Width of `memory.actor`; 0 = transitions have none.
        max_steps: Length of the run in steps, for schedules.
        registry: Where `agents_core.demonstrations.load_demonstrations` finds formats; None = what is installed.
    """

    behavior: str
    config: ConfigT
    spec: BehaviorSpec
    device: torch.device
    memory_size: int
    max_steps: int
    registry: Registry | None = None


class Buffer(ABC):
    """Keeps transitions and gives back minibatches.

    Transitions of one agent in one episode come in the order of time and without gaps, those of several agents mixed:
    the `next_obs.<i>` of one is the `obs.<i>` of the agent's next one as long as `episode_id` stays.

    Attributes:
        capacity: Most transitions that it keeps, where that is known beforehand.
        is_saved: Whether checkpoints keep the contents; those of a run with `checkpoints.exact` always do.
        compression: How saved transitions are compressed: `lzf`, `gzip` or `none`.
    """

    capacity: int | None = None
    is_saved: bool = False
    compression: str = "lzf"

    @abstractmethod
    def add(self, transitions: Columns) -> None:
        """Take in transitions, dropping the oldest ones beyond the capacity.

        Args:
            transitions: `obs.<i>`, `next_obs.<i>`, `action.*`, `reward`, `terminated`, `truncated`, `agent_id`,
                `episode_id` and, where the behavior has them, `action_mask`, `next_action_mask`, `group_reward`,
                `memory.actor`. The arrays may be reused after the call.
        """

    @abstractmethod
    def sample(self, batch_size: int, generator: np.random.Generator) -> Batch:
        """A minibatch of `batch_size` transitions on the training device.

        Returns:
            The fields that were added, with `row` (int64[n], for `update_priorities`) and, of buffers that do not
            sample uniformly, `weight` (float32[n], importance weights, at most 1).
        """

    @abstractmethod
    def sample_sequences(self, count: int, length: int, generator: np.random.Generator) -> Batch:
        """Pieces of episodes, for n-step returns and for policies with memory.

        Returns:
            `count * length` rows, sequence by sequence, as of `sample`; and `is_valid` (bool[n]): False where the
            episode ended, or its newest transition came, before `length` rows. The first row of each is valid.
        """

    def update_priorities(self, rows: torch.Tensor, errors: torch.Tensor) -> None:  # noqa: B027
        """Tell the buffer the absolute temporal-difference error, float32[n], of sampled rows."""

    @abstractmethod
    def __len__(self) -> int:
        """Transitions that can be sampled."""

    @property
    def stored(self) -> range:
        """Numbers of the transitions that `export` can give, in the order in which they came; a number never changes.

        A checkpoint then writes only what is new since the one before. Empty: `export_rest` gives everything.
        """
        return range(0)

    def export(self, numbers: range) -> dict[str, Array]:
        """Transitions as arrays to be saved, perhaps views; what a piece says must hold when more have come."""
        raise NotImplementedError

    def export_rest(self) -> dict[str, Any]:
        """What else continuing needs, as a `state_dict` tree."""
        return self.state_dict()

    def restore(  # A buffer without `stored` gets no pieces.
        self,
        pieces: Iterable[tuple[range, Mapping[str, Array]]],  # noqa: ARG002
        rest: Mapping[str, Any],
    ) -> None:
        """Take over what was exported: pieces in the order of their numbers, and the newest rest.

        The first ones may hold transitions that were dropped since.

        Raises:
            ValueError: A piece does not fit; the message says what it has and what is wanted.
        """
        self.load_state_dict(rest)

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue: contents, order and priorities."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave."""
