"""A lock that one process at a time holds on a run directory; the system frees it however the process ends."""

from __future__ import annotations

import errno
import logging
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

from agents_core.errors import UserError

LOCK_FILE = ".lock"

_BYTE = 2**30
"""Windows locks a range of bytes against reading; one far behind the text keeps the text readable."""
_HELD = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}
_log = logging.getLogger(__name__)


class RunLockedError(UserError):
    """Another process trains in the run directory."""


class RunLock:
    """Held from the moment it is made until `release`.

    The file stays, empty, when the lock is free: removing it could leave two processes with two files of one name.

    Raises:
        RunLockedError: Another process holds it; the message tells its process id.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / LOCK_FILE
        # Not inheritable (PEP 446): workers that outlive this process do not keep the lock.
        self._descriptor: int | None = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(self._descriptor)
        except OSError as error:
            if error.errno in _HELD:
                self._close()
                raise RunLockedError(
                    f"{directory}: {_holder(self._path)} is training in it; wait, or end it"
                ) from error
            # A network file system without locks: training there is worth more than the protection.
            _log.warning("%s: cannot be locked (%s); start no second process on this run", directory, error.strerror)
        with suppress(OSError):  # A full disk: who holds the lock is told to others only for their message.
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode())

    def release(self) -> None:
        """Free the lock; calling it twice is allowed."""
        if self._descriptor is not None:
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            self._close()

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _holder(path: Path) -> str:
    written = path.read_text(encoding="utf-8", errors="replace").split()
    return f"process {written[0]} on {written[1]}" if len(written) == 2 else "another process"


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
