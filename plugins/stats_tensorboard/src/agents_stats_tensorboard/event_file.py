"""TensorBoard's event files: writing them, and cutting off what lies beyond a step.

A file is a row of records: length (uint64), checksum of the length, a serialised `Event`, checksum of the event.
"""

from __future__ import annotations

import itertools
import logging
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from agents_core.training.durable import rename, write_file
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.record_writer import RecordWriter

_PATTERN = "events.out.tfevents.*"
_HEADER = struct.Struct("<QI")
_CHECKSUM_SIZE = 4

_numbers = itertools.count()
_log = logging.getLogger(__name__)


class EventFile:
    """A new event file in `folder`; every event is flushed when it is added.

    It is written by the calling thread, so that a full disk shows where it happens.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # TensorBoard reads the files of a folder in the order of their names.
        name = _PATTERN.replace("*", f"{int(time.time()):010d}.{os.getpid()}.{next(_numbers):04d}")
        self._file = (folder / name).open("xb")
        self._records = RecordWriter(self._file)
        self.add(Event(wall_time=time.time(), file_version="brain.Event:2"))

    def add(self, event: Event) -> None:
        self._records.write(event.SerializeToString())
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def purge(folder: Path, last_step: int) -> None:
    """Cut every event beyond `last_step` out of the files in `folder`; files left without any go altogether."""
    for path in sorted(folder.glob(_PATTERN)):
        data = path.read_bytes()
        kept = bytearray()
        is_worth_keeping = False
        for record, event in _records(path, data):
            if event.step <= last_step:
                kept += record
                is_worth_keeping = is_worth_keeping or not event.file_version
        if not is_worth_keeping:
            path.unlink()
        elif len(kept) < len(data):
            aside = folder / "purged.partial"  # a name that TensorBoard does not take for an event file
            write_file(aside, bytes(kept))
            rename(aside, path)


def _records(path: Path, data: bytes) -> Iterator[tuple[bytes, Event]]:
    """Whole records of a file, each with its event; a process that was killed may have left half a one at the end."""
    start = 0
    while start + _HEADER.size <= len(data):
        length, _ = _HEADER.unpack_from(data, start)
        event_start = start + _HEADER.size
        end = event_start + length + _CHECKSUM_SIZE
        if length == 0 or end > len(data):
            break
        try:
            event = Event.FromString(data[event_start : event_start + length])
        except DecodeError:
            break
        yield data[start:end], event
        start = end
    if start < len(data):
        _log.warning("%s: dropped %d bytes at its end that are no whole event", path, len(data) - start)
