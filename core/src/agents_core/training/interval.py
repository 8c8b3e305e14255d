"""Things that are due every so many steps."""

from __future__ import annotations


class Interval:
    """Due once for each multiple of `every` that the step count passes; never where `every` is 0.

    Counting in steps, not in updates, keeps intervals the same whatever the number of environments.
    """

    def __init__(self, every: int, step: int = 0) -> None:
        self._every = every
        self._passed = step // every if every else 0

    def is_due(self, step: int) -> bool:
        """Whether a multiple was passed since the last time this said so."""
        passed = step // self._every if self._every else 0
        is_due = passed > self._passed
        self._passed = max(passed, self._passed)
        return is_due
