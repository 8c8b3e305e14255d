"""Exceptions that nobody foresaw, as messages that say whose they are."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from agents_core.errors import AgentsError
from agents_core.registry import PluginRecord, Registry
from agents_core.registry.names import describe

_DISK = {errno.EACCES, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EPERM, errno.EROFS}


class PluginFailedError(AgentsError):
    """The code of a plugin raised what its contract does not provide for."""


class FileFailedError(AgentsError):
    """The disk is full, broken, or may not be written."""


@contextmanager
def explained_failures(registry: Registry) -> Iterator[None]:
    """Report what a plugin raised, or the disk, with the one who can mend it; a mistake of core's stays a traceback.

    Raises:
        PluginFailedError: It was raised in the code of a plugin, or in what that called.
        FileFailedError: The operating system refused to read or write a file.
    """
    try:
        yield
    except AgentsError:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, OSError) and error.errno in _DISK:
            raise FileFailedError(f"{error.filename or 'a file of the run'}: {error.strerror}") from error
        records = {record.module.partition(".")[0]: record for record in registry.records}
        records.pop("agents_core", None)  # Core, and the plugin of its toys.
        culprit = _culprit(error, records)
        if culprit is None:
            raise
        record, frame, line = culprit
        raise PluginFailedError(
            f"{record.origin.title} raised {describe(error)}\n"
            f"  in {frame.f_code.co_name}, {frame.f_code.co_filename}:{line}\n"
            "  AGENTS_PLUGIN_TRACEBACK=1 shows the traceback; run.log has it once a run has begun."
        ) from error


def _culprit(error: BaseException, records: dict[str, PluginRecord]) -> tuple[PluginRecord, FrameType, int] | None:
    """The innermost plugin whose code was running, and where; None where only core's was."""
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in records:
            return records[package], frame, line
    return None
