"""Values that change over a run: learning rates, clip ranges, strengths."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schedule:
    """A number for each step of a run, never below `floor`.

    Constant where `final` is None; otherwise it falls or rises linearly from `initial` to `final`:
    initial + (final - initial) · min(step / max_steps, 1).
    """

    initial: float
    final: float | None = None
    floor: float | None = None

    def value(self, step: int, max_steps: int) -> float:
        """The value at `step` of a run of `max_steps`."""
        value = self.initial
        if self.final is not None:
            value += (self.final - self.initial) * min(step / max(max_steps, 1), 1.0)
        return value if self.floor is None else max(value, self.floor)

    @property
    def is_zero(self) -> bool:
        """Whether it is the constant 0."""
        return self.initial == 0 and self.final in (None, 0) and not self.floor
