"""The records of a `.demo` file as columns.

Three kinds of record are in use, and nothing in the head tells them apart: pairs of agent info and action, with actions
in their own fields (A) or in one deprecated list of floats (B), and flat agent infos of early releases that hold the
stored action themselves (C).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from agents_core.columns import Array
from agents_core.spec import ObservationSpec
from google.protobuf.message import DecodeError

from agents_env_unity.demo.blocks import Block
from agents_env_unity.demo.errors import damaged
from agents_env_unity.demo.head import Head
from agents_env_unity.demo.kinds import FlatRecords, PairRecords, RecordReader, is_pair
from agents_env_unity.demo.observations import RecordError
from agents_env_unity.demo.stream import CutError, messages
from agents_env_unity.demo.table import GrowingTable

_BLOCK_RECORDS = 1024
_BLOCK_BYTES = 1 << 22


@dataclass(slots=True)
class Records:
    """Everything that the records hold, in the order of the file.

    Attributes:
        kind: Of all records.
        specs: What agents see.
        columns: `obs.<i>`, `action.continuous`, `action.discrete`, `has_action` (bool), `reward` (float32), `done`,
            `max_step` (bool), `id` (int32), `offset` (int64, the byte at which the record begins), and where there are
            any `mask` (bool[n, choices], True = allowed), `group_id` (int32), `group_reward` (float32).
        ends_early: Whether the head promises more records than there are.
        warnings: What is odd about the file.
    """

    kind: Literal["pairs", "deprecated", "flat"]
    specs: tuple[ObservationSpec, ...]
    columns: dict[str, Array]
    ends_early: bool
    warnings: list[str]

    def __len__(self) -> int:
        return len(self.columns["reward"])


def read_records(file: BinaryIO, path: Path, head: Head, size: int) -> Records:
    """Read all records.

    Raises:
        DemonstrationError: There is none, or one is damaged; the message has the byte at which it begins.
    """
    if head.is_closed and head.metadata.number_steps <= 0:
        raise damaged(path, head.records_offset, "the recording was closed before its first step; it holds no record")
    collected = _Collector(path, head, size)
    collected.read(file)
    if not collected.count:
        raise damaged(path, head.records_offset, "the file holds no record")
    ends_early = collected.count < head.metadata.number_steps
    return Records(collected.kind, collected.specs, collected.finish(), ends_early, collected.warnings)


class _Collector:
    """Reads record after record into blocks, and blocks into a table."""

    def __init__(self, path: Path, head: Head, size: int) -> None:
        self._path = path
        self._head = head
        self._size = size
        self._reader: RecordReader | None = None
        self._block = Block(head.action)
        self._block_bytes = 0
        self._table: GrowingTable | None = None
        self.count = 0
        self.warnings: list[str] = []

    @property
    def specs(self) -> tuple[ObservationSpec, ...]:
        return () if self._reader is None else tuple(reader.spec for reader in self._reader.observations)

    @property
    def kind(self) -> Literal["pairs", "deprecated", "flat"]:
        if isinstance(self._reader, FlatRecords):
            return "flat"
        return "deprecated" if self._block.is_deprecated else "pairs"

    def read(self, file: BinaryIO) -> None:
        """Read up to the last record."""
        start = self._head.records_offset
        expected = self._head.metadata.number_steps if self._head.is_closed else None
        if expected is None:
            self._warn(0, "the recording was not closed, so that its head has no counts; complete records are read")
        try:
            for end, data in messages(file, self._path, start, self._size):
                self._take(start, data)
                start = end
                if self.count == expected:
                    break
        except CutError as error:
            if expected is not None:
                reason = f"record {self.count + 1} of {expected} is cut: {error.reason}"
                raise damaged(self._path, error.offset, reason) from None
            self._warn(error.offset, f"{error.reason}; this record is left out")
        self._flush()
        if expected is not None and self.count < expected:
            self._warn(start, f"the file ends here after {self.count} records; its head promises {expected}")
        if self._block.odd_masks:
            odd = f"{self._block.odd_masks} action masks have another length than the choices"
            self._warn(self._head.records_offset, f"{odd}; they are taken as: everything is allowed")

    def finish(self) -> dict[str, Array]:
        """The columns of all records."""
        return {} if self._table is None else self._table.finish()

    def _warn(self, offset: int, reason: str) -> None:
        self.warnings.append(f"{self._path}: byte {offset}: {reason}")

    def _take(self, offset: int, data: bytes) -> None:
        try:
            if self._reader is None:
                self._reader = PairRecords(data) if is_pair(data) else FlatRecords(data)
            self._reader.take(data, self._block)
        except DecodeError:
            raise damaged(self._path, offset, f"record {self.count + 1} cannot be decoded") from None
        except RecordError as error:
            raise damaged(self._path, offset, f"record {self.count + 1}: {error}") from error
        self._block.offsets.append(offset)
        self.count += 1
        self._block_bytes += len(data)
        if len(self._block.offsets) == _BLOCK_RECORDS or self._block_bytes > _BLOCK_BYTES:
            self._flush()

    def _flush(self) -> None:
        """Turn the block into arrays."""
        if self._reader is None or not self._block.offsets:
            return
        offsets = self._block.offsets
        first = self.count - len(offsets)
        try:
            arrays = {f"obs.{i}": reader.flush() for i, reader in enumerate(self._reader.observations)}
            arrays.update(self._block.flush())
        except RecordError as error:
            record = error.record or 0
            raise damaged(self._path, offsets[record], f"record {first + record + 1}: {error}") from error
        if self._table is None:
            self._table = GrowingTable(self._expected_records())
        self._table.append(arrays, len(offsets))
        self._block_bytes = 0

    def _expected_records(self) -> int:
        """What the head says, but no more than the file has room for if its records are like the first ones."""
        fitting = 5 * self.count * self._size // (4 * self._block_bytes) + 1
        return min(self._head.metadata.number_steps, fitting) if self._head.is_closed else fitting
