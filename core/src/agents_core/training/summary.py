"""What happens to a behavior between two summaries, turned into the numbers that are written."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from agents_core.timers import Timers

RECENT_EPISODES = 100
"""Episodes that `mean_return` of summary.json and of the progress display looks back on."""

_SCHEDULED = frozenset({"learning_rate", "epsilon", "beta"})
_log = logging.getLogger(__name__)


class BehaviorSummary:
    """Gathers what one behavior did since its last summary, and what it did in all.

    Means are taken over everything since the last summary, and a name that got no number is left out: no episode
    ended, no `rollout/mean_return`. Names that end in `learning_rate`, `epsilon` or `beta`, and `eval/…`, give the
    last number instead of the mean. A number that is not finite is left out, with a warning at its first time.

    Args:
        behavior: Name of the behavior, for warnings.
        summary_freq: Steps from one summary to the next; they are due at its multiples.
        started_at: The run's working seconds when the behavior was first seen.

    Attributes:
        episodes: Finished episodes so far.
        last_step: Step of the last summary.
        next_step: A summary is due from this step on.
    """

    def __init__(self, behavior: str, summary_freq: int, started_at: float = 0.0) -> None:
        self.episodes = 0
        self.last_step = 0
        self.next_step = summary_freq
        self._behavior = behavior
        self._summary_freq = summary_freq
        self._started_at = started_at
        self._last_seconds = started_at
        self._speed_since = (0, started_at)  # step and seconds of the last summary but one
        self._recent: deque[float] = deque(maxlen=RECENT_EPISODES)
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._latest: dict[str, float] = {}
        self._warned: set[str] = set()

    def add_episodes(self, returns: npt.NDArray[np.floating], lengths: npt.NDArray[np.integer]) -> None:
        """Take finished episodes.

        Args:
            returns: float[n], sum of the raw environment reward of each.
            lengths: int[n], decisions of each.
        """
        number = len(returns)
        if number == 0:
            return
        self.episodes += number
        self._recent.extend(returns[-RECENT_EPISODES:].tolist())
        self._add("rollout/mean_return", float(returns.sum(dtype=np.float64)), number)
        self._add("rollout/mean_length", float(lengths.sum()), number)

    def add_stats(self, stats: Mapping[str, float]) -> None:
        """Take what an update or an evaluation reported, under full names such as `train/policy_loss`."""
        for name, number in stats.items():
            value = float(number)
            if not math.isfinite(value):
                self._leave_out(name, value)
            elif name.rpartition("/")[2] in _SCHEDULED or name.startswith("eval/"):
                self._latest[name] = value
            else:
                self._add(name, value, 1)

    def add_environment(self, stats: Mapping[str, Iterable[float]]) -> None:
        """Take the environment's own statistics, `EnvironmentSteps.stats`: a list of numbers a key."""
        for key, numbers in stats.items():
            name = f"env/{key}"
            for value in map(float, numbers):
                if math.isfinite(value):
                    self._add(name, value, 1)
                else:
                    self._leave_out(name, value)

    def has_news(self, step: int) -> bool:
        """Whether a summary at `step`, as at every stop of the run, would say anything new."""
        return step > self.last_step or bool(self._latest) or bool(self._sums)

    def take(self, step: int, working_seconds: float) -> dict[str, float]:
        """The summary at `step`, sorted by name; gathering starts anew.

        Args:
            step: Decisions taken so far.
            working_seconds: `RunClock.working_seconds`.
        """
        stats = {}
        for name, total in self._sums.items():
            mean = total / self._counts[name]
            if math.isfinite(mean):
                stats[name] = mean
            else:
                self._leave_out(name, mean)
        stats.update(self._latest)
        if step > self.last_step and working_seconds > self._last_seconds:
            speed = (step - self.last_step) / (working_seconds - self._last_seconds)
            stats["time/steps_per_second"] = speed
        self._speed_since = (self.last_step, self._last_seconds)
        self._pass(step)
        self._last_seconds = working_seconds
        self._sums.clear()
        self._counts.clear()
        self._latest.clear()
        return dict(sorted(stats.items()))

    def progress(self, step: int, working_seconds: float) -> dict[str, float]:
        """What `StatsWriter.progress` shows: speed since the last summary but one, return of recent episodes."""
        since_step, since_seconds = self._speed_since
        stats = {}
        if working_seconds > since_seconds:
            stats["time/steps_per_second"] = (step - since_step) / (working_seconds - since_seconds)
        recent = self.recent_return
        if recent is not None:
            stats["rollout/mean_return"] = recent
        return stats

    @property
    def recent_return(self) -> float | None:
        """Mean raw return of the last 100 finished episodes; None before the first one ends."""
        return math.fsum(self._recent) / len(self._recent) if self._recent else None

    def totals(self, step: int, working_seconds: float) -> dict[str, float | None]:
        """The behavior's part of summary.json: steps, episodes, mean_return, steps_per_second.

        `mean_return` is None while no episode has ended, `steps_per_second` while no time has passed.

        Args:
            step: Decisions taken in all.
            working_seconds: `RunClock.working_seconds`; a behavior that went no further since its last summary
                counts up to that one, however long others went on.
        """
        seconds = (working_seconds if step > self.last_step else self._last_seconds) - self._started_at
        return {
            "steps": step,
            "episodes": self.episodes,
            "mean_return": self.recent_return,
            "steps_per_second": step / seconds if seconds > 0 else None,
        }

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on, as a tree of plain values."""
        return {
            "episodes": self.episodes,
            "last_step": self.last_step,
            "started_at": self._started_at,
            "last_seconds": self._last_seconds,
            "speed_since": list(self._speed_since),
            "recent": list(self._recent),
            "sums": dict(self._sums),
            "counts": dict(self._counts),
            "latest": dict(self._latest),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self.episodes = state["episodes"]
        self._pass(state["last_step"])
        self._started_at = state["started_at"]
        self._last_seconds = state["last_seconds"]
        self._speed_since = (state["speed_since"][0], state["speed_since"][1])
        self._recent = deque(state["recent"], maxlen=RECENT_EPISODES)
        self._sums = dict(state["sums"])
        self._counts = dict(state["counts"])
        self._latest = dict(state["latest"])

    def _pass(self, step: int) -> None:
        self.last_step = step
        self.next_step = (step // self._summary_freq + 1) * self._summary_freq

    def _add(self, name: str, total: float, count: int) -> None:
        self._sums[name] = self._sums.get(name, 0.0) + total
        self._counts[name] = self._counts.get(name, 0) + count

    def _leave_out(self, name: str, value: float) -> None:
        if name not in self._warned:
            self._warned.add(name)
            _log.warning("%s: %s was %s; numbers that are not finite are left out", self._behavior, name, value)


def record_gauges(timers: Timers, behavior: str, stats: Mapping[str, float]) -> None:
    """Keep the numbers of a summary as gauges of timers.json, named `<behavior>.<name>.mean` with dots for slashes."""
    for name, value in stats.items():
        timers.gauge(f"{behavior}.{name.replace('/', '.')}.mean", value)
