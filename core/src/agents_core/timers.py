"""Hierarchical timers and gauges: where the time of a run goes."""

from __future__ import annotations

import json
import math
import platform
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

FORMAT_VERSION = "0.1.0"
"""`timer_format_version` of timers.json."""


class TimedBlock:
    """A named part of the run at one place of the hierarchy; what `with timers.time(name):` enters.

    The same object is entered again every time, so that a block costs no allocation. A block that contains its own
    name is timed as a child of itself.
    """

    __slots__ = ("_now", "_parent", "_started", "_timers", "children", "count", "is_parallel", "total")

    def __init__(self, timers: Timers, parent: TimedBlock | None) -> None:
        self.total = 0.0
        self.count = 0
        self.is_parallel = False
        self.children: dict[str, TimedBlock] = {}
        self._timers = timers
        self._now = timers.now
        self._parent = parent
        self._started: float | None = None

    def __enter__(self) -> None:
        self._timers._current = self
        self._started = self._now()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        started = self._started
        if started is not None:
            self.total += self._now() - started
            self.count += 1
            self._started = None
        self._timers._current = self._parent or self

    def seconds(self) -> float:
        """Seconds so far; a block that is being timed now counts up to this moment."""
        return self.total if self._started is None else self.total + self._now() - self._started

    def to_dict(self) -> dict[str, object]:
        """The node of timers.json: total, count, is_parallel if true, self and, if there are any, children."""
        total = self.seconds()
        within = sum(child.seconds() for child in self.children.values())
        node: dict[str, object] = {"total": total, "count": self.count + (self._started is not None)}
        if self.is_parallel:
            node["is_parallel"] = True
        node["self"] = max(0.0, total - within)
        if self.children:
            node["children"] = {name: child.to_dict() for name, child in self.children.items()}
        return node


class _Gauge:
    """Last, smallest and largest value of something, and how often and what it was on average."""

    __slots__ = ("count", "highest", "lowest", "sum", "value")

    def __init__(self) -> None:
        self.value = 0.0
        self.lowest = math.inf
        self.highest = -math.inf
        self.sum = 0.0
        self.count = 0

    def to_dict(self) -> dict[str, float]:
        return {
            "value": self.value,
            "min": self.lowest,
            "max": self.highest,
            "count": self.count,
            "mean": self.sum / self.count,
        }


class Timers:
    """Times nested parts of one process of a run by name; for use from one thread.

    A resumed run starts with fresh timers: timers.json tells of the process that wrote it, whose start and end stand
    in its metadata.

    Args:
        now: Monotonic time in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.now = now
        self._start_time = time.time()
        self._gauges: dict[str, _Gauge] = {}
        self._root = TimedBlock(self, None)
        self._root.__enter__()
        self._current = self._root

    def time(self, name: str) -> TimedBlock:
        """Time the block as a child of the block that is being timed now: `with timers.time("collect"):`."""
        current = self._current
        block = current.children.get(name)
        return self._add_child(current, name) if block is None else block

    def gauge(self, name: str, value: float) -> None:
        """Record the current value of something, keeping last, smallest, largest, mean and count.

        Raises:
            ValueError: `value` is not finite.
        """
        if not math.isfinite(value):
            raise ValueError(f"gauge {name!r} was given {value}; it takes finite numbers")
        gauge = self._gauges.get(name)
        if gauge is None:
            gauge = self._gauges[name] = _Gauge()
        gauge.value = value
        gauge.lowest = min(gauge.lowest, value)
        gauge.highest = max(gauge.highest, value)
        gauge.sum += value
        gauge.count += 1

    def merge(self, path: str, measured: Mapping[str, Mapping[str, float]]) -> None:
        """Take over what worker processes measured, as parallel children of the block at `path`.

        Args:
            path: As in `total`; made if it was never timed here.
            measured: As `WorkerPool.timers()`: {name: {"total": seconds, "count": n}}, totals so far, so that merging
                again replaces what the same workers gave before.
        """
        block = self._root
        for name in path.split("/"):
            block = block.children.get(name) or self._add_child(block, name)
        for name, numbers in measured.items():
            child = block.children.get(name) or self._add_child(block, name)
            child.is_parallel = True
            child.total = float(numbers["total"])
            child.count = int(numbers["count"])

    def total(self, path: str = "") -> float:
        """Seconds spent so far at a place such as `collect/act`; 0 where nothing was timed. The root is ``""``."""
        block: TimedBlock | None = self._root
        for name in path.split("/") if path else ():
            block = block.children.get(name) if block is not None else None
        return 0.0 if block is None else block.seconds()

    def to_dict(self, metadata: Mapping[str, str] | None = None) -> dict[str, object]:
        """Everything so far in the layout of timers.json.

        Args:
            metadata: Added to the format version, start and end times, Python version and command line.
        """
        described = {
            "timer_format_version": FORMAT_VERSION,
            "start_time_seconds": str(int(self._start_time)),
            "end_time_seconds": str(int(time.time())),
            "python_version": platform.python_version(),
            "command_line_arguments": " ".join(sys.argv),
            **(metadata or {}),
        }
        gauges = {name: gauge.to_dict() for name, gauge in self._gauges.items()}
        return {"name": "root", "gauges": gauges, "metadata": described, **self._root.to_dict()}

    def save(self, path: Path, metadata: Mapping[str, str] | None = None) -> None:
        """Write `to_dict` as JSON: aside first, then renamed, so that readers never see half a file."""
        aside = path.with_name(path.name + ".partial")
        aside.write_text(json.dumps(self.to_dict(metadata), indent=2, allow_nan=False) + "\n", encoding="utf-8")
        aside.replace(path)

    def _add_child(self, parent: TimedBlock, name: str) -> TimedBlock:
        if not name or "/" in name:
            raise ValueError(f"timer name {name!r} must be neither empty nor contain '/', which separates levels")
        block = parent.children[name] = TimedBlock(self, parent)
        return block
