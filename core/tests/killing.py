"""Kills a process that saves in a loop with SIGKILL, at random moments."""

from __future__ import annotations

import os
import random
import select
import signal
import time
from collections.abc import Callable

Report = Callable[[int], object]


def kill_often(
    save_for_ever: Callable[[int, Report], None], last_moment: Callable[[], int], kills: int, longest_delay: float
) -> int:
    """Save, kill and look at what is left, again and again; the last moment that was saved.

    Args:
        save_for_ever: Given a moment and a function to report to: saves the moments that follow and reports each one
            when it is saved.
        last_moment: The moment of the save that is left, found whole.
        kills: How many processes are killed.
        longest_delay: Seconds after its first save until a process is killed, at the most.
    """
    delays = random.Random(7)
    moment = last_moment()
    for _ in range(kills):
        reported = _kill_one(save_for_ever, moment, delays.uniform(0, longest_delay))
        moment = last_moment()
        assert reported <= moment <= reported + 1, f"{reported} was finished, {moment} is left"
    return moment


def _kill_one(save_for_ever: Callable[[int, Report], None], moment: int, delay: float) -> int:
    """Start a saving process after `moment`, kill it, and return the last moment that it reported."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        save_for_ever(moment, lambda saved: os.write(writing, saved.to_bytes(8, "big")))
    os.close(writing)
    select.select([reading], [], [], 20)  # It has saved once.
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while data := os.read(reading, 8):
        moment = int.from_bytes(data, "big")
    os.close(reading)
    return moment
