"""What a run shows while it trains: progress bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import atexit
import logging
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from agents_core.contracts.stats import StatsWriter, StatsWriterContext
from agents_core.training.stats_config import ConsoleConfig

REFRESH_SECONDS = 0.25
"""Least time between two drawings of the bars."""

_RETURN, _EVALUATION, _SPEED = "rollout/mean_return", "eval/mean_return", "time/steps_per_second"
_log = logging.getLogger(__name__)


class ConsoleWriter(StatsWriter):
    """Shows the run on standard output.

    A terminal gets one bar a behavior. Anything else gets one line a summary, never wrapped, cut or coloured. With
    `quiet` there is nothing.
    """

    def __init__(self, context: StatsWriterContext[ConsoleConfig]) -> None:
        self._max_steps = context.max_steps
        self._bars: ProgressBars | None = None
        self._prints_lines = False
        if not context.quiet:
            self._bars = ProgressBars() if _is_terminal() else None
            self._prints_lines = self._bars is None

    def write(self, behavior: str, step: int, wall_time: float, stats: Mapping[str, float]) -> None:  # noqa: ARG002
        if self._bars is not None:
            # Speed and return stay those that progress reports give, over recent episodes: no jumping to and fro.
            self._bars.show(behavior, step, self._limit(behavior), {})
        elif self._prints_lines:
            self._print(summary_line(behavior, step, self._limit(behavior), stats))

    def progress(self, behavior: str, step: int, stats: Mapping[str, float]) -> None:
        if self._bars is not None:
            self._bars.show(behavior, step, self._limit(behavior), stats)

    def close(self) -> None:
        if self._bars is not None:
            self._bars.close()

    def _limit(self, behavior: str) -> int | None:
        return self._max_steps.get(behavior, self._max_steps.get("*"))

    def _print(self, line: str) -> None:
        """Print a line at once; a reader that has gone away, as in `agents run | head`, doesn't end the training."""
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        try:
            sys.stdout.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
            sys.stdout.flush()
        except OSError as error:
            self._prints_lines = False
            _log.warning("standard output cannot be written any more (%s); no further lines are printed", error)


class ProgressBars:
    """One bar a behavior: step, speed, return, time left. Drawn without a thread, at most four times a second.

    Until `close`, whatever else is written to standard output or to the terminal's standard error, log messages
    included, appears above the bars.
    """

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[position]}", markup=False),
            TextColumn("{task.fields[numbers]}", markup=False),
            console=Console(force_terminal=True),
            auto_refresh=False,
            redirect_stderr=bool(sys.stderr and sys.stderr.isatty()),
        )
        self._tasks: dict[str, TaskID] = {}
        self._shown: dict[str, tuple[int, int | None, Mapping[str, float]]] = {}
        self._next_refresh = 0.0
        streams = sys.stdout, sys.stderr
        self._progress.start()
        # Handlers hold the stream they were made with; rich replaces only the names in `sys`.
        self._moved: list[tuple[logging.StreamHandler[TextIO], TextIO]] = []
        for stream, proxy in zip(streams, (sys.stdout, sys.stderr), strict=True):
            for handler in _handlers_on(stream) if proxy is not stream else ():
                handler.setStream(proxy)
                self._moved.append((handler, stream))
        atexit.register(self.close)

    def show(self, behavior: str, step: int, max_steps: int | None, stats: Mapping[str, float]) -> None:
        """Take the newest numbers of a behavior, keeping those not given anew, and draw when it is time."""
        earlier = self._shown[behavior][2] if behavior in self._shown else {}
        self._shown[behavior] = (step, max_steps, {**earlier, **stats})
        if time.monotonic() >= self._next_refresh:
            self._draw()

    def close(self) -> None:
        """Draw the last state, leave it on the screen and give the terminal back; allowed twice."""
        atexit.unregister(self.close)
        self._draw()
        self._progress.stop()
        for handler, stream in self._moved:
            handler.setStream(stream)
        self._moved = []

    def _draw(self) -> None:
        for behavior, (step, max_steps, stats) in self._shown.items():
            position = f"{step:,}" if max_steps is None else f"{step:,}/{max_steps:,}"
            numbers = _numbers(step, max_steps, stats)
            if behavior in self._tasks:
                self._progress.update(self._tasks[behavior], completed=step, position=position, numbers=numbers)
            else:
                self._tasks[behavior] = self._progress.add_task(
                    behavior, total=max_steps, completed=step, position=position, numbers=numbers
                )
        self._progress.refresh()
        self._next_refresh = time.monotonic() + REFRESH_SECONDS


def summary_line(behavior: str, step: int, max_steps: int | None, stats: Mapping[str, float]) -> str:
    """One line for a summary; what is not known is left out."""
    parts = [f"{behavior}: step {step:,}" if max_steps is None else f"{behavior}: step {step:,} of {max_steps:,}"]
    if _RETURN in stats:
        parts.append(f"mean return {_rounded(stats[_RETURN])}")
    if _EVALUATION in stats:
        parts.append(f"evaluation {_rounded(stats[_EVALUATION])}")
    if _SPEED in stats:
        parts.append(f"{stats[_SPEED]:,.0f} steps/s")
    return ", ".join(parts)


def _numbers(step: int, max_steps: int | None, stats: Mapping[str, float]) -> str:
    """What stands behind the bar."""
    parts = []
    speed = stats.get(_SPEED, 0.0)
    if speed > 0:
        parts.append(f"{speed:,.0f} steps/s")
    if _RETURN in stats:
        parts.append(f"return {_rounded(stats[_RETURN])}")
    if speed > 0 and max_steps is not None and step < max_steps:
        parts.append(f"ETA {timedelta(seconds=round((max_steps - step) / speed))}")
    return "  ".join(parts)


def _rounded(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"


def _is_terminal() -> bool:
    """Whether standard output can redraw lines. FORCE_COLOR and the like don't count: a pipe stays a pipe."""
    return bool(sys.stdout and sys.stdout.isatty()) and not Console().is_dumb_terminal


def _handlers_on(stream: object) -> Iterator[logging.StreamHandler[TextIO]]:
    """All log handlers that write to `stream`."""
    loggers = [logging.getLogger(), *logging.Logger.manager.loggerDict.values()]
    for logger in loggers:
        for handler in getattr(logger, "handlers", ()):
            if isinstance(handler, logging.StreamHandler) and handler.stream is stream:
                yield handler
