"""metrics.jsonl: every summary of a run, one JSON object a line."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from pathlib import Path

from agents_core.contracts.stats import StatsWriter, StatsWriterContext
from agents_core.training.durable import replace_file
from agents_core.training.stats_config import JsonlConfig

FILE_NAME = "metrics.jsonl"

_log = logging.getLogger(__name__)


class JsonlWriter(StatsWriter):
    """Appends `{"step", "wall_time", "behavior", "stats"}` to metrics.jsonl, each line flushed when it is written.

    Lines are ASCII, and their numbers read back as the very floats that were given. Where a file exists, only lines
    up to the step that their behavior resumes from are kept.
    """

    def __init__(self, context: StatsWriterContext[JsonlConfig]) -> None:
        path = context.run_directory / FILE_NAME
        if path.exists():
            _keep_until(path, context.resumed_at)
        self._file = path.open("ab")

    def write(self, behavior: str, step: int, wall_time: float, stats: Mapping[str, float]) -> None:
        """Append one line.

        Raises:
            ValueError: A number is not finite; the message names it.
        """
        numbers = {name: float(value) for name, value in stats.items()}
        for name, value in numbers.items():
            if not math.isfinite(value):
                raise ValueError(
                    f"{name} of behavior {behavior!r} at step {step} is {value}; only finite numbers are kept"
                )
        summary = {"step": int(step), "wall_time": float(wall_time), "behavior": behavior, "stats": numbers}
        self._file.write(json.dumps(summary, allow_nan=False).encode("ascii") + b"\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _keep_until(path: Path, resumed_at: Mapping[str, int]) -> None:
    """Drop the lines beyond their behavior's step, and half a line that a killed process may have left at the end."""
    kept = []
    unreadable = []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
        position = _position(line)
        if position is None:
            unreadable.append(str(number))
        elif position[1] <= resumed_at.get(position[0], -1):
            kept.append(line)
    replace_file(path, b"".join(kept))
    if unreadable:
        _log.warning("%s: dropped what could not be read: line %s", path, ", ".join(unreadable))


def _position(line: bytes) -> tuple[str, int] | None:
    """Behavior and step of a line; None if it is no whole summary."""
    if not line.endswith(b"\n"):
        return None
    try:
        summary = json.loads(line)
    except ValueError:
        return None
    if not isinstance(summary, dict):
        return None
    behavior, step = summary.get("behavior"), summary.get("step")
    return (behavior, step) if isinstance(behavior, str) and isinstance(step, int) else None
