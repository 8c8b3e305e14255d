"""Means over what the agents did lately."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MEMORY = 10_000
"""Rows after which what was seen counts 1/e of what is new."""


class RecentMean:
    """Mean of a number over rows, where older rows count less and less."""

    def __init__(self) -> None:
        self._rows = 0.0
        self._total = 0.0

    @property
    def value(self) -> float:
        """The mean; 0 before the first row."""
        return self._total / self._rows if self._rows else 0.0

    @property
    def is_empty(self) -> bool:
        return not self._rows

    def take(self, rows: int, total: float) -> None:
        """Take in rows whose numbers sum to `total`."""
        kept = math.exp(-rows / MEMORY)
        self._rows = kept * self._rows + rows
        self._total = kept * self._total + total

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self._rows, "total": self._total}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._rows, self._total = float(state["rows"]), float(state["total"])
