"""Messages with their length before them, one after another in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from agents_env_unity.demo.errors import damaged

_BLOCK_BYTES = 1 << 20
_MAX_VARINT_BYTES = 5
"""Of a length below 2^31, and of what a `.demo` file counts."""


class CutError(Exception):
    """The file ends within a message.

    Attributes:
        offset: Byte at which the message begins.
        reason: What is missing.
    """

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(f"byte {offset}: {reason}")
        self.offset = offset
        self.reason = reason


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at `at`, and where it ends.

    Raises:
        IndexError: The data ends within it.
        ValueError: It is longer than a length can be.
    """
    value = 0
    for index in range(_MAX_VARINT_BYTES):
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + index + 1
    raise ValueError("no length: a number of more than 5 bytes")


def write_varint(value: int) -> bytes:
    """A number as it stands before a message."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def messages(file: BinaryIO, path: Path, offset: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Each message from `offset` to the end of the file, with the byte behind its last one.

    Args:
        file: Opened for reading bytes.
        path: For messages.
        offset: Where the first one begins.
        size: Of the file.

    Raises:
        CutError: The file ends within a message.
        DemonstrationError: What should be a length is none.
    """
    file.seek(offset)
    buffer, at = b"", 0  # buffer[at:] is what follows `offset` in the file
    while offset < size:
        if len(buffer) - at < _MAX_VARINT_BYTES:
            buffer, at = buffer[at:] + file.read(_BLOCK_BYTES), 0
        try:
            length, start = read_varint(buffer, at)
        except IndexError:
            raise CutError(offset, f"the file ends at byte {size} within a length") from None
        except ValueError as error:
            raise damaged(path, offset, str(error)) from None
        end = start + length
        if end > len(buffer):
            if offset + end - at > size:
                needed = offset + end - at - size
                raise CutError(offset, f"the file ends at byte {size}, {needed} bytes before the end of this message")
            buffer = buffer[at:] + file.read(max(end - len(buffer), _BLOCK_BYTES))
            start, end, at = start - at, end - at, 0
        offset, at = offset + end - at, end
        yield offset, buffer[start:end]
