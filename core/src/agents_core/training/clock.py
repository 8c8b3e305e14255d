"""How long a run has been going, earlier processes of it included."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType


class RunClock:
    """Counts the seconds of a run: all of them, and those spent collecting and updating.

    Args:
        now: Monotonic time in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._started = now()
        self._earlier = 0.0
        self._worked = 0.0
        self._working_since: float | None = None

    @property
    def wall_seconds(self) -> float:
        """Seconds since the clock was made, and those of earlier processes."""
        return self._earlier + self._now() - self._started

    @property
    def working_seconds(self) -> float:
        """Seconds that counted as work, and those of earlier processes."""
        if self._working_since is None:
            return self._worked
        return self._worked + self._now() - self._working_since

    def working(self) -> RunClock:
        """Count the block as work: `with clock.working():` around collecting and around updating; not to be nested.

        Start-up, evaluation and saving stay outside of it.
        """
        return self

    def __enter__(self) -> None:
        # The clock itself is the context manager: it is entered at every environment step and has to cost nothing.
        self._working_since = self._now()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._worked = self.working_seconds
        self._working_since = None

    def state_dict(self) -> dict[str, float]:
        """Seconds so far."""
        return {"wall_seconds": self.wall_seconds, "working_seconds": self.working_seconds}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """Go on from where `state_dict` was taken."""
        self._started = self._now()
        self._earlier = state["wall_seconds"]
        self._worked = state["working_seconds"]
