"""Memory that processes share and that has no name, so that nothing can be left behind however they end."""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
import uuid
import weakref
from multiprocessing import reduction
from multiprocessing.connection import Connection


class SharedMemory:
    """A block of zeros that is freed when the last process that sees it lets go of it.

    On Linux an anonymous file (memfd), which the size of `/dev/shm` does not limit; on macOS a temporary file that is
    removed as soon as it is open; on Windows a mapping of the page file. NumPy arrays may be made of `buffer`; they
    keep it alive.
    """

    def __init__(self, buffer: mmap.mmap, handle: int, tag: str) -> None:
        self.buffer = buffer
        self._handle = handle
        self._tag = tag
        if handle >= 0:
            weakref.finalize(self, os.close, handle)

    @classmethod
    def create(cls, size: int) -> SharedMemory:
        """A new block of `size` bytes."""
        if sys.platform == "win32":
            tag = f"agents-{uuid.uuid4()}"
            return cls(mmap.mmap(-1, size, tag), -1, tag)
        if sys.platform == "linux":
            handle = os.memfd_create("agents", os.MFD_CLOEXEC)
        else:
            with tempfile.TemporaryFile() as file:
                handle = os.dup(file.fileno())
        os.ftruncate(handle, size)
        return cls(mmap.mmap(handle, size), handle, "")

    def send(self, connection: Connection, process: int) -> None:
        """Let the process with this id, which must call `receive`, see the block."""
        if sys.platform == "win32":
            connection.send(self._tag)
        else:
            reduction.send_handle(connection, self._handle, process)

    @classmethod
    def receive(cls, connection: Connection, size: int) -> SharedMemory:
        """The block of `size` bytes that the other process sends."""
        if sys.platform == "win32":
            tag = connection.recv()
            return cls(mmap.mmap(-1, size, tag), -1, tag)
        handle = reduction.recv_handle(connection)
        return cls(mmap.mmap(handle, size), handle, "")
