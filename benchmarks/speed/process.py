"""What a process has used so far; needs a POSIX system."""

from __future__ import annotations

import os
import resource
import sys


def cpu_seconds() -> float:
    """User and system seconds of this process and of its ended children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def peak_mib() -> float:
    """Largest resident memory of this process, in MiB."""
    # Linux counts in KiB, macOS in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
