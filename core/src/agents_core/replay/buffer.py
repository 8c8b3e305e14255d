"""The replay buffer: the newest transitions, each as likely to be sampled as any other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from agents_core.columns import Array, Batch, Columns
from agents_core.contracts.buffer import Buffer, BufferContext
from agents_core.replay.config import ReplayConfig
from agents_core.replay.free_memory import check_memory, not_given
from agents_core.replay.layout import usual_fields
from agents_core.replay.linked_rows import least_bytes, most_bytes
from agents_core.replay.saved_rows import check_piece, export_rows, find_predecessors, import_rows, shifted, trimmed
from agents_core.replay.steady_rows import SteadyRows

Int64s = npt.NDArray[np.int64]
Float32s = npt.NDArray[np.float32]
ConfigT = TypeVar("ConfigT", bound=ReplayConfig)


class ReplayBuffer(Buffer):
    """The newest `buffer_size` transitions of all agents, sampled uniformly and with replacement.

    Attributes:
        BESIDE: Bytes that are kept of each transition beside its row.

    Raises:
        UserError: They would not fit into the memory that is free.
    """

    BESIDE = 0
    capacity: int

    def __init__(self, context: BufferContext[ConfigT]) -> None:
        capacity = self.capacity = context.config.buffer_size
        fields = usual_fields(context.spec, context.memory_size)
        most = most_bytes(capacity, fields.values(), self.BESIDE)
        check_memory(context.behavior, capacity, lambda size: least_bytes(size, fields.values(), self.BESIDE), most)
        self.is_saved = context.config.save_replay_buffer
        self.compression = context.config.compression
        self._device = context.device
        self._usual_fields = fields
        try:
            self._rows = SteadyRows(capacity, fields)
        except MemoryError:  # The system promises no array that all of its memory could not hold.
            raise not_given(context.behavior, capacity, most) from None
        self._shift = 0  # What to add to the numbers of `_rows`.
        self._predecessors: tuple[int, Int64s] | None = None  # While a save goes on; as of how many transitions.

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, transitions: Columns) -> None:
        self._rows.add(transitions.fields)

    def sample(self, batch_size: int, generator: np.random.Generator) -> Batch:
        self._rows.note()
        rows, weight = self._draw(batch_size, generator)
        return self._batch(rows, weight)

    def sample_sequences(self, count: int, length: int, generator: np.random.Generator) -> Batch:
        self._rows.note()
        starts, weight = self._draw(count, generator)
        rows = np.empty((length, count), np.int64)
        is_valid = np.ones((length, count), np.bool_)
        rows[0] = starts
        for step in range(1, length):
            successor = self._rows.successor[rows[step - 1]]
            is_valid[step] = is_valid[step - 1] & self._rows.are_transitions(successor)
            rows[step] = np.where(is_valid[step], successor, rows[step - 1])
        repeated = None if weight is None else np.repeat(weight, length)
        return self._batch(rows.T.reshape(-1), repeated, is_valid.T.reshape(-1))

    def _draw(self, count: int, generator: np.random.Generator) -> tuple[Int64s, Float32s | None]:
        """Rows of transitions, and importance weights where not all are equally likely."""
        rows = self._rows
        return rows.rows_of(generator.integers(rows.total - len(rows), rows.total, count)), None

    def _batch(self, rows: Int64s, weight: Float32s | None, is_valid: npt.NDArray[np.bool_] | None = None) -> Batch:
        linked, device = self._rows, self._device
        fields: dict[str, Any] = linked.store.gather(rows, "successor", linked.names, device)
        fields["row"] = torch.from_numpy(rows).to(device)
        if weight is not None:
            fields["weight"] = torch.from_numpy(weight).to(device)
        if is_valid is not None:
            fields["is_valid"] = torch.from_numpy(is_valid).to(device)
        return Batch(fields, len(rows))

    @property
    def stored(self) -> range:
        return range(self._shift + self._rows.total - len(self._rows), self._shift + self._rows.total)

    def export(self, numbers: range) -> dict[str, Array]:
        if self._predecessors is None or self._predecessors[0] != self._rows.total:  # They serve all pieces of a save.
            self._predecessors = (self._rows.total, find_predecessors(self._rows))
        first, last = numbers.start - self._shift, numbers.stop - self._shift
        return shifted(export_rows(self._rows, first, last, self._predecessors[1]), self._shift)

    def export_rest(self) -> dict[str, Any]:
        self._predecessors = None
        self._rows.settle()
        return {
            "stored": [self.stored.start, self.stored.stop],
            "shift": self._shift,
            "agents": self._rows.agents.state_dict(self._shift),
        }

    def restore(self, pieces: Iterable[tuple[range, Mapping[str, Array]]], rest: Mapping[str, Any]) -> None:
        self._predecessors = None
        start, stop = rest["stored"]
        rows = self._rows = SteadyRows(self.capacity, self._usual_fields)
        oldest, shift = max(start, stop - rows.capacity), rest["shift"]
        # In the same places as before, unless the buffer was smaller and began to drop transitions.
        self._shift = shift if oldest - shift == max(0, stop - shift - rows.capacity) else oldest
        rows.start_at(oldest - self._shift)
        for numbers, piece in pieces:
            check_piece(rows, piece)
            if numbers.stop > oldest:
                piece = shifted(trimmed(piece, numbers.start, oldest), -self._shift)
                import_rows(rows, piece, oldest - self._shift)
        rows.agents.load_state_dict(rest["agents"], self._shift)
        if rows.total != stop - self._shift or not rows.is_linked:
            raise ValueError("transitions are missing")

    def state_dict(self) -> dict[str, Any]:
        piece = {name: array.copy() for name, array in self.export(self.stored).items()}
        return {"rows": piece, "rest": self.export_rest()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        rest = state["rest"]
        numbers = range(*rest["stored"])
        self.restore([(numbers, state["rows"])] if numbers else [], rest)
