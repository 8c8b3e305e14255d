"""run.log: what is logged while a run is on."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from pathlib import Path

_CORE = logging.getLogger("agents_core")


class _LogFile(logging.FileHandler):
    """What it cannot write is lost: the terminal has it too, and a full disk is told of there."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)

    def close(self) -> None:
        with suppress(OSError):  # What is left in its memory may not fit either.
            super().close()


class RunLog:
    """Logs to a file until `close`: what core says from INFO on, everybody else from WARNING on, with tracebacks.

    While it is open, Python no longer prints warnings by itself; who wants them on the terminal adds a handler for it.
    """

    def __init__(self, path: Path) -> None:
        self._handler = _LogFile(path, encoding="utf-8")
        self._handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        self._level = _CORE.level
        logging.getLogger().addHandler(self._handler)
        _CORE.setLevel(min(self._level or logging.INFO, logging.INFO))

    def write_error(self, error: BaseException) -> None:
        """Write an error with its traceback, to the file alone: the terminal gets the message without it."""
        details = (type(error), error, error.__traceback__)
        record = _CORE.makeRecord(__name__, logging.ERROR, __file__, 0, "the run ended: %r", (error,), details)
        self._handler.handle(record)

    def close(self) -> None:
        """Stop logging and close the file."""
        logging.getLogger().removeHandler(self._handler)
        _CORE.setLevel(self._level)
        self._handler.close()
