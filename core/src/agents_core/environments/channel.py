"""How a parent and a worker take turns: single bytes for steps, pickled messages for everything else."""

from __future__ import annotations

import os
import select
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection

_MESSAGE = b"m"


@dataclass(frozen=True, slots=True)
class Signal:
    """A single byte that says what to do, or that it is done."""

    value: bytes


STEP = (Signal(b"0"), Signal(b"1"))
"""Parent to worker: step, and write the steps into this half of the memory."""
DONE = Signal(b"d")
"""Worker to parent: done; steps are in the memory."""
_SIGNALS = {signal.value: signal for signal in (*STEP, DONE)}


class ChannelClosedError(Exception):
    """The process at the other end is gone."""


class Channel:
    """One end of a duplex pipe between two processes of which never both speak.

    A signal is one byte that is written and read without further ado: a fifth of the time that a message takes.

    Raises:
        ChannelClosedError: From every method, when the other process is gone.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._file = connection.fileno()
        self._is_torn = False
        if sys.platform != "win32":
            self._poll = select.poll()
            self._poll.register(self._file, select.POLLIN)

    def signal(self, signal: Signal) -> None:
        """Send a signal."""
        try:
            self._write(signal.value)
        except OSError as error:
            raise ChannelClosedError from error

    def send(self, message: object) -> None:
        """Send a message."""
        try:
            self._write(_MESSAGE)
            self.connection.send(message)
        except OSError as error:
            raise ChannelClosedError from error

    def wait(self, seconds: float) -> bool:
        """Whether something arrives, or the other process ends, within this time."""
        if sys.platform == "win32":
            try:
                return self.connection.poll(seconds)
            except OSError as error:
                raise ChannelClosedError from error
        return bool(self._poll.poll(seconds * 1000))

    def receive(self) -> object:
        """The next message or `Signal`, however long it takes."""
        if self._is_torn:
            raise ChannelClosedError
        try:
            value = self._read()
            if value == _MESSAGE:
                # An interrupt in between leaves the rest of the message, which nobody could read any more.
                self._is_torn = True
                message: object = self.connection.recv()
                self._is_torn = False
                return message
        except (OSError, EOFError) as error:
            raise ChannelClosedError from error
        if not value:
            raise ChannelClosedError
        return _SIGNALS[value]

    def close(self) -> None:
        """Close this end."""
        self.connection.close()

    def _write(self, byte: bytes) -> None:
        if sys.platform == "win32":
            self.connection.send_bytes(byte)
        else:
            os.write(self._file, byte)

    def _read(self) -> bytes:
        if sys.platform == "win32":
            return self.connection.recv_bytes()
        return os.read(self._file, 1)
