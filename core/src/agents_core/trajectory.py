"""What the collector hands to an on-policy trainer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array, Columns


@dataclass(frozen=True, slots=True)
class Trajectories:
    """Slices of episodes, one after another, all acted by one policy.

    A trajectory ends where its episode ends, at `time_horizon` rows, or where the update cut it. Only
    `columns["terminated"]` at its last row removes the value of what follows; every other end bootstraps from
    `final_observations`.

    Attributes:
        columns: `obs.<i>`, `action.*`, `reward`, `terminated`, `truncated`, `agent_id`, `episode_id`, `tick` and,
            where the behavior has them, `action_mask`, `group_id`, `group_reward`; of a policy with memory
            `memory.actor` in every row. The rows of a trajectory are
            neighbours, in the order of time.
        lengths: int64[m], rows of each trajectory; they sum to `len(columns)`.
        final_observations: For each observation [m, *shape]: what the agent saw after the trajectory's last row.
    """

    columns: Columns
    lengths: npt.NDArray[np.int64]
    final_observations: tuple[Array, ...]

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def last_rows(self) -> npt.NDArray[np.int64]:
        """int64[m], index of each trajectory's last row."""
        return np.cumsum(self.lengths) - 1

    def next_observations(self) -> tuple[Array, ...]:
        """For each observation [n, *shape]: what the same agent saw after each row."""
        following = np.arange(1, len(self) + 1)
        following[self.last_rows] = 0
        shifted = []
        for observation, final in zip(self.columns.observations, self.final_observations, strict=True):
            after = observation[following]
            after[self.last_rows] = final
            shifted.append(after)
        return tuple(shifted)
