"""What a process has used so far."""

from __future__ import annotations

import os
import sys

import psutil


def cpu_seconds() -> float:
    """User and system seconds of this process and of its ended children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def peak_mib() -> float:
    """Largest resident memory of this process, in MiB."""
    if sys.platform == "win32":
        return float(psutil.Process().memory_info().peak_wset) / 2**20
    import resource

    # Linux counts in KiB, macOS in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
