"""What a worker process runs first; NumPy is not imported before the number of its threads is set."""

from __future__ import annotations

import os
import signal
import sys
import threading
from multiprocessing import connection, parent_process

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
ORPHAN_SECONDS = 5.0
"""Time that a worker without a parent has to close its environments."""


def run_worker(index: int, pipe: connection.Connection) -> None:
    """Serve the parent at the other end of the pipe until it closes."""
    _detach()
    for name in _THREAD_VARIABLES:
        os.environ.setdefault(name, "1")
    threading.Thread(target=_end_with_parent, daemon=True).start()

    from agents_core.environments.worker_loop import WorkerLoop

    WorkerLoop(index, pipe).run()


def _detach() -> None:
    """Leave Ctrl-C to the parent; on POSIX also head a process group of our own.

    What the environments start is in that group, and ends with it when the worker has to be killed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        os.setsid()
        # The parent blocks it while it starts us, so that none arrives before this line.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _end_with_parent() -> None:
    """End even when an environment hangs and the worker cannot see that its parent is gone."""
    parent = parent_process()
    if parent is None:
        return
    connection.wait([parent.sentinel])
    threading.Event().wait(ORPHAN_SECONDS)
    if sys.platform != "win32":
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)
