"""What a checkpoint says of a buffer: the files of its transitions, and what else it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of transitions.

    Attributes:
        name: Of the file.
        first: Number of its first transition.
        last: Number after its last one.
        size: Bytes.
        checksum: CRC-32 of them.
    """

    name: str
    first: int
    last: int
    size: int
    checksum: int


@dataclass(frozen=True, slots=True)
class SavedReplay:
    """A buffer as it was saved.

    Attributes:
        segments: Files of its transitions, in the order of their numbers.
        rest: `Buffer.export_rest()`.
    """

    segments: Sequence[Segment]
    rest: Mapping[str, Any]


def segments_to_tree(segments: Sequence[Segment]) -> list[list[str | int]]:
    """The list of files as plain values."""
    return [[file.name, file.first, file.last, file.size, file.checksum] for file in segments]


def segments_from_tree(tree: Sequence[Sequence[Any]]) -> list[Segment]:
    """The files that `segments_to_tree` listed."""
    return [Segment(*entry) for entry in tree]


def listed_files(header: Mapping[str, Any]) -> set[str]:
    """Names of the files that a checkpoint's state.json lists."""
    replay = header.get("replay")
    return {file.name for file in segments_from_tree(replay["segments"])} if replay else set()
