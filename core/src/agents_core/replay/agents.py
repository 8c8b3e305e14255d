"""What each agent did last, so that its next transition finds the one before it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array

Int64s = npt.NDArray[np.int64]

NONE = -1
"""Number of no transition."""


class LastTransitions:
    """By agent, sorted: the number of its last transition, and that one's episode.

    Only agents whose episode goes on are here.
    """

    def __init__(self) -> None:
        self.ids: Int64s = np.empty(0, np.int64)
        self.numbers: Int64s = np.empty(0, np.int64)
        self.episodes: Int64s = np.empty(0, np.int64)

    def find(self, ids: Int64s) -> tuple[Int64s, Int64s]:
        """Number and episode of each agent's last transition, `NONE` where there is none."""
        if not len(self.ids):
            nobody = np.full(len(ids), NONE)
            return nobody, nobody
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        is_known = self.ids[places] == ids
        return np.where(is_known, self.numbers[places], NONE), np.where(is_known, self.episodes[places], NONE)

    def go_on(self, ids: Int64s, numbers: Int64s) -> None:
        """Known agents did something more in the same episodes."""
        self.numbers[np.searchsorted(self.ids, ids)] = numbers

    def replace(self, ids: Int64s, numbers: Int64s, episodes: Int64s, oldest: int) -> None:
        """Take in what agents (sorted, each once) did last; `NONE` = their episode ended.

        Agents whose last transition is older than `oldest` are forgotten.
        """
        stays = self.numbers >= oldest
        if len(self.ids):
            places = np.minimum(np.searchsorted(ids, self.ids), len(ids) - 1)
            stays &= ids[places] != self.ids
        goes_on = numbers != NONE
        all_ids = np.concatenate((self.ids[stays], ids[goes_on]))
        order = np.argsort(all_ids, kind="stable")
        self.ids = all_ids[order]
        self.numbers = np.concatenate((self.numbers[stays], numbers[goes_on]))[order]
        self.episodes = np.concatenate((self.episodes[stays], episodes[goes_on]))[order]

    def state_dict(self, shift: int) -> dict[str, Array]:
        """The table, `shift` added to the numbers."""
        return {"ids": self.ids.copy(), "numbers": self.numbers + shift, "episodes": self.episodes.copy()}

    def load_state_dict(self, state: Mapping[str, Array], shift: int) -> None:
        """Take over what `state_dict` gave with the same shift."""
        self.ids, self.episodes = state["ids"].copy(), state["episodes"].copy()
        self.numbers = state["numbers"] - shift
