"""How much memory there is."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

from agents_core.errors import UserError

_log = logging.getLogger(__name__)

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def free_memory() -> int | None:
    """Bytes that a process may still take without others being swapped out; None where the system does not tell."""
    if sys.platform == "win32":
        return _free_on_windows()
    if _MEMINFO.exists():
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines())
        return min(int(lines["MemAvailable"].split()[0]) * 1024, _left_in_container())
    try:  # macOS tells only what there is in all.
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def _left_in_container() -> int:
    """What the limit of the process's container leaves (control groups, version 2)."""
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = int((_CGROUP / "memory.current").read_text())
        inactive = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())["inactive_file"]
    except (OSError, KeyError, ValueError):
        return sys.maxsize
    return sys.maxsize if limit == "max" else max(0, int(limit) - used + int(inactive))


def _free_on_windows() -> int | None:
    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("all", "free", "a", "b", "c", "d", "e")),
        )

    status = Status()
    status.length = ctypes.sizeof(Status)
    library = getattr(ctypes, "windll", None)
    if library is None or not library.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return int(status.free)


def check_memory(behavior: str, buffer_size: int, bytes_of: Callable[[int], int], most: int) -> None:
    """Refuse a buffer that does not fit into memory; warn of one that may come not to.

    Args:
        behavior: Whose buffer, for the message.
        buffer_size: Transitions that it keeps.
        bytes_of: Memory that a buffer of some size takes at least, once it is full.
        most: Memory that this one takes where every episode is a single step.

    Raises:
        UserError: It takes more than what is free.
    """
    free = free_memory()
    needed = bytes_of(buffer_size)
    if free is None or most <= free:
        return
    if needed <= free:
        _log.warning(
            "behaviors.%s.trainer.buffer.buffer_size: %d transitions need %s of memory, up to %s where episodes are "
            "short, and %s are free",
            behavior,
            buffer_size,
            written_bytes(needed),
            written_bytes(most),
            written_bytes(free),
        )
        return
    fits, too_many = 0, buffer_size
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        fits, too_many = (middle, too_many) if bytes_of(middle) <= free else (fits, middle)
    raise too_large(
        behavior, buffer_size, needed, f"{written_bytes(free)} ({free} bytes) are free; at most {fits} would fit"
    )


def not_given(behavior: str, buffer_size: int, most: int) -> UserError:
    """A complaint about a buffer whose most bytes the system does not promise, although they might not be needed."""
    free = free_memory()
    fits = "" if free is None else f"; about {buffer_size * free // most} would fit"
    return too_large(behavior, buffer_size, most, f"the system does not give it{fits}")


def too_large(behavior: str, buffer_size: int, needed: int, why: str) -> UserError:
    """A complaint about a buffer that needs so many bytes."""
    return UserError(
        f"behaviors.{behavior}.trainer.buffer.buffer_size: {buffer_size} transitions need {written_bytes(needed)} "
        f"({needed} bytes) of memory, and {why}. Set a smaller buffer_size."
    )


def written_bytes(count: int) -> str:
    """A number of bytes for people, such as `1.5 GB`."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
