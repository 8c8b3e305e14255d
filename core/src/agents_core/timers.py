"""Hierarchical timers and gauges of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Timers:
    """Times nested parts of a run by name."""

    @contextmanager
    def time(self, name: str) -> Iterator[None]:
        """Time the block as a child of the block that is being timed now."""
        yield

    def gauge(self, name: str, value: float) -> None:
        """Record the current value of something, keeping last, smallest, largest and count."""
