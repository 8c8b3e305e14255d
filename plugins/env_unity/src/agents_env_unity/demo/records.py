"""The records of a `.demo` file as columns.

Three kinds of record are in use, and nothing in the head tells them apart: pairs of agent info and action, with actions
in their own fields (A) or in one deprecated list of floats (B), and flat agent infos of early releases that hold the
stored action themselves (C).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import numpy.typing as npt
from agents_core.columns import Array
from agents_core.spec import ActionSpec, ObservationSpec
from google.protobuf.message import DecodeError

from agents_env_unity.demo.blocks import Block
from agents_env_unity.demo.errors import damaged
from agents_env_unity.demo.head import Head
from agents_env_unity.demo.kinds import FlatRecords, PairRecords, RecordReader, is_pair
from agents_env_unity.demo.observations import RecordError
from agents_env_unity.demo.stream import CutError, messages

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_BLOCK_RECORDS = 4096
_BLOCK_BYTES = 1 << 23


@dataclass(slots=True)
class Records:
    """Everything that the records hold, in the order of the file.

    Attributes:
        kind: Of all records.
        specs: What agents see.
        columns: `obs.<i>`, `action.continuous`, `action.discrete`, `has_action` (bool), `reward`, `group_reward`
            (float32), `done`, `max_step` (bool), `id`, `group_id` (int64), `mask` (bool[n, choices], True = allowed),
            `offset` (int64, the byte at which the record begins), in arrays of [n, ...].
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
    collected = _Collector(path, head)
    warnings, end = collected.read(file, size)
    if not collected.count:
        raise damaged(path, head.records_offset, "the file holds no record")
    expected = head.metadata.number_steps
    ends_early = collected.count < expected
    if ends_early:
        warnings.append(
            f"{path}: byte {end}: the file ends here after {collected.count} records; its head promises {expected}"
        )
    columns = collected.finish()
    return Records(collected.kind, collected.specs, columns, ends_early, warnings + collected.warnings)


class _Collector:
    """Reads record after record into blocks, and blocks into columns."""

    def __init__(self, path: Path, head: Head) -> None:
        self._path = path
        self._head = head
        self._action: ActionSpec = head.action
        self._reader: RecordReader | None = None
        self._block = Block(head.action)
        self._blocks: list[dict[str, Array]] = []
        self._bytes = 0
        self.count = 0

    @property
    def specs(self) -> tuple[ObservationSpec, ...]:
        return () if self._reader is None else tuple(reader.spec for reader in self._reader.observations)

    @property
    def kind(self) -> Literal["pairs", "deprecated", "flat"]:
        if isinstance(self._reader, FlatRecords):
            return "flat"
        return "deprecated" if self._block.is_deprecated else "pairs"

    @property
    def warnings(self) -> list[str]:
        if not self._block.odd_masks:
            return []
        return [
            f"{self._path}: {self._block.odd_masks} action masks have another length than the choices; "
            "they are taken as: everything is allowed"
        ]

    def read(self, file: BinaryIO, size: int) -> tuple[list[str], int]:
        """Read up to the last record; gives warnings and the byte behind it."""
        start = self._head.records_offset
        expected = self._head.metadata.number_steps if self._head.is_closed else None
        warnings = [] if expected else [f"{self._path}: the recording was not closed; all complete records are read"]
        try:
            for end, data in messages(file, self._path, start, size):
                self._take(start, data)
                start = end
                if self.count == expected:
                    break
        except CutError as error:
            if expected is not None:
                reason = f"record {self.count + 1} of {expected} is cut: {error.reason}"
                raise damaged(self._path, error.offset, reason) from None
            warnings.append(f"{self._path}: byte {error.offset}: {error.reason}; this record is left out")
        self._flush()
        return warnings, start

    def finish(self) -> dict[str, Array]:
        """The columns of all blocks; these are forgotten one after another, to save memory."""
        columns: dict[str, Array] = {}
        names = dict.fromkeys(name for block in self._blocks for name in block)
        for name in names:
            if name == "mask":
                columns[name] = self._masks()
            else:
                columns[name] = np.concatenate([block.pop(name) for block in self._blocks])
        return columns

    def _masks(self) -> Bools:
        """bool[n, choices]; blocks without any mask allow everything."""
        width = self._action.mask_size
        return np.concatenate(
            [
                block["mask"] if "mask" in block else np.ones((len(block["done"]), width), np.bool_)
                for block in self._blocks
            ]
        )

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
        self._bytes += len(data)
        if len(self._block.offsets) == _BLOCK_RECORDS or self._bytes > _BLOCK_BYTES:
            self._flush()

    def _flush(self) -> None:
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
        self._blocks.append(arrays)
        self._bytes = 0
