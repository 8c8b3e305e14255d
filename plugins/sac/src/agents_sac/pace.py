"""How many updates are due."""

from __future__ import annotations


class Pace:
    """Counts steps and says how many updates they are worth.

    Args:
        steps_per_update: Steps for each update; below 1 = several updates a step.
    """

    def __init__(self, steps_per_update: float) -> None:
        self._steps_per_update = steps_per_update
        self.steps = 0.0
        """Steps that no update was made for."""

    @property
    def due(self) -> int:
        """Updates that are due."""
        # Rounding of fractions such as 0.1 must not swallow an update.
        return int(self.steps / self._steps_per_update + 1e-9)

    def go_on(self, steps: float) -> None:
        """Take over the steps of an earlier process; no whole update is owed where it had more steps for each."""
        self.steps = steps % self._steps_per_update

    def take(self) -> int:
        """Updates that are due, which are then made."""
        due = self.due
        self.steps = max(self.steps - due * self._steps_per_update, 0.0)
        return due
