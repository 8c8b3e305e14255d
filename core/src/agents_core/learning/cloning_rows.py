"""A demonstration as a network is trained on it: row by row, or in sequences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agents_core.columns import Batch, Columns
from agents_core.learning.cloning_loss import CloningError, ExpertActions, LossName, cloning_error
from agents_core.learning.gradient import even_slices, rows_at_once
from agents_core.learning.sequences import even_parts, rows_of, split, starts_of
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.memory import Memory, Sequences

Int64s = npt.NDArray[np.int64]

_LEARNED_FROM = ("obs.", "action.", "action_mask")


def expert_batch(columns: Columns, device: torch.device) -> Batch:
    """What is learned from in a demonstration's columns; a field goes to the device when it is first read."""
    fields = {
        name: partial(torch.as_tensor, array, device=device)
        for name, array in columns.fields.items()
        if name.startswith(_LEARNED_FROM)
    }
    return Batch(fields, len(columns))


class ExpertRows(ABC):
    """Compares an actor with a demonstration, in units of rows or of sequences.

    Attributes:
        unit_lengths: int64[units], rows of each unit.
    """

    unit_lengths: Int64s

    def __init__(self, network: ActorCritic, columns: Columns, loss: LossName) -> None:
        self._network = network
        self._loss = loss
        self._batch = expert_batch(columns, network.log_std.device)

    def __len__(self) -> int:
        return len(self._batch)

    def units_of(self, rows: int) -> int:
        """How many units have about so many rows: at least 1, at most all."""
        return min(max(1, round(rows * len(self.unit_lengths) / len(self))), len(self.unit_lengths))

    def refresh(self) -> None:  # noqa: B027
        """Bring up to date what is worked out with the weights as they are now; once for each pass."""

    def state_dict(self) -> dict[str, Any]:
        """What the last `refresh` worked out."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:  # noqa: B027
        """Take over what `state_dict` gave."""

    @abstractmethod
    def error(self, units: Int64s) -> CloningError:
        """Of the rows of some units, with gradients."""

    @abstractmethod
    def parts(self) -> list[Int64s]:
        """All units, in parts that a network can see at once."""

    def _error(self, outputs: Tensor, batch: Batch) -> CloningError:
        network = self._network
        return cloning_error(outputs, network.log_std, ExpertActions.of(batch), network.form, self._loss)


class SingleRows(ExpertRows):
    """For networks without memory: every row is a unit."""

    def __init__(self, network: ActorCritic, columns: Columns, loss: LossName) -> None:
        super().__init__(network, columns, loss)
        self.unit_lengths = np.ones(len(columns), np.int64)

    def error(self, units: Int64s) -> CloningError:
        batch = self._batch.take(torch.from_numpy(units).to(self._network.log_std.device))
        return self._error(self._network.act(batch.observations), batch)

    def parts(self) -> list[Int64s]:
        slices = even_slices(len(self), rows_at_once(self._network.spec))
        return [np.arange(part.start, part.stop) for part in slices]


class RecalledSequences(ExpertRows):
    """For networks with memory: episodes in sequences, each from the state that its episode has led to.

    Those states are worked out with the weights of the last `refresh`, so that no burn-in is needed.

    Args:
        network: The actor's.
        columns: Episodes, one after another.
        episodes: int64[m], rows of each.
        loss: As of `cloning_error`.
        memory: The actor's.
        sequence_length: Rows that gradients go back through.
    """

    def __init__(
        self,
        network: ActorCritic,
        columns: Columns,
        episodes: Int64s,
        loss: LossName,
        memory: Memory,
        sequence_length: int,
    ) -> None:
        super().__init__(network, columns, loss)
        self._memory = memory
        self.unit_lengths = split(episodes, sequence_length)
        self._starts = starts_of(self.unit_lengths)
        first_rows = starts_of(episodes)
        offset = self._starts - first_rows[np.searchsorted(first_rows, self._starts, side="right") - 1]
        self._age = offset // sequence_length
        """How many sequences of its episode come before each."""
        self._states = torch.zeros(len(self._starts), memory.state_size, device=network.log_std.device)

    @torch.no_grad()
    def refresh(self) -> None:
        for age in range(int(self._age.max())):
            going_on = np.flatnonzero(self._age == age + 1) - 1
            for part in even_parts(self.unit_lengths[going_on], rows_at_once(self._network.spec)):
                units = going_on[part]
                _, after = self._unroll(units, self._taken(units))
                self._states[torch.from_numpy(units + 1)] = after

    def state_dict(self) -> dict[str, Any]:
        return {"states": self._states.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        states = torch.as_tensor(state["states"])
        if states.shape != self._states.shape:
            raise ValueError(
                f"the demonstrations have {len(self._states)} sequences, those that it was trained on {len(states)}"
            )
        self._states.copy_(states)

    def error(self, units: Int64s) -> CloningError:
        batch = self._taken(units)
        hidden, _ = self._unroll(units, batch)
        return self._error(self._network.action_head(hidden), batch)

    def _taken(self, units: Int64s) -> Batch:
        rows = rows_of(self._starts[units], self.unit_lengths[units])
        return self._batch.take(torch.from_numpy(rows).to(self._states.device))

    def _unroll(self, units: Int64s, batch: Batch) -> tuple[Tensor, Tensor]:
        features = self._network.actor_body(batch.observations)
        sequences = Sequences(self.unit_lengths[units], features.device)
        return self._memory.unroll(features, sequences, self._states[torch.from_numpy(units).to(features.device)])

    def parts(self) -> list[Int64s]:
        every = np.arange(len(self.unit_lengths))
        return [every[part] for part in even_parts(self.unit_lengths, rows_at_once(self._network.spec))]


def expert_rows(network: ActorCritic, columns: Columns, episodes: Int64s, loss: LossName) -> ExpertRows:
    """What compares this network with a demonstration.

    Args:
        network: The actor's.
        columns: Episodes, one after another.
        episodes: int64[m], rows of each.
        loss: As of `cloning_error`.
    """
    memory, config = network.actor_memory, network.config.memory
    if memory is None or config is None:
        return SingleRows(network, columns, loss)
    return RecalledSequences(network, columns, episodes, loss, memory, config.sequence_length)
