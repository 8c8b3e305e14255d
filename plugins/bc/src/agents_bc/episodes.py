"""Holding out episodes of a demonstration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from agents_core.columns import Columns
from agents_core.learning.sequences import rows_of, starts_of
from agents_core.trajectory import Trajectories

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Episodes:
    """Whole episodes, one after another.

    Attributes:
        columns: Their rows.
        lengths: int64[m], rows of each.
    """

    columns: Columns
    lengths: Int64s

    def take(self, chosen: Int64s) -> Episodes:
        """Some of them, in the order given."""
        rows = rows_of(starts_of(self.lengths)[chosen], self.lengths[chosen])
        return Episodes(self.columns.take(rows), self.lengths[chosen])


def hold_out(demonstration: Trajectories, share: float, generator: np.random.Generator) -> tuple[Episodes, Episodes]:
    """Episodes to learn from and episodes to validate with; none of the latter where the share is 0.

    Both have at least one. Of a single episode the end is held out.
    """
    episodes = Episodes(demonstration.columns, demonstration.lengths)
    if not share or len(demonstration) < 2:
        return episodes, episodes.take(np.empty(0, np.int64))
    count = len(episodes.lengths)
    if count == 1:
        held = min(max(1, round(share * len(demonstration))), len(demonstration) - 1)
        episodes = Episodes(demonstration.columns, np.array([len(demonstration) - held, held]))
        return episodes.take(np.array([0])), episodes.take(np.array([1]))
    held = min(max(1, round(share * count)), count - 1)
    order = generator.permutation(count)
    return episodes.take(np.sort(order[held:])), episodes.take(np.sort(order[:held]))
