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

    def find_before(
        self, ids: Int64s, episodes: Int64s, ended: npt.NDArray[np.bool_], numbers: Int64s
    ) -> tuple[Int64s, Int64s, Int64s]:
        """The transition that each of some new ones follows in its episode.

        Args:
            ids: Agents of the new transitions; those of one agent in the order of time.
            episodes: Their episodes.
            ended: Whether the episode ended with them.
            numbers: Their numbers.

        Returns:
            Number of the transition before each, `NONE` where there is none; place of the first and of the last new one
            of each agent, by agent.
        """
        count = len(ids)
        order = np.argsort(ids, kind="stable")
        is_first = np.ones(count, np.bool_)
        is_first[1:] = ids[order[1:]] != ids[order[:-1]]
        firsts, lasts = order[is_first], order[np.append(is_first[1:], True)]
        before, before_episodes = np.full(count, NONE), np.full(count, NONE)
        before[order[1:]] = np.where(ended[order[:-1]], NONE, numbers[order[:-1]])
        before_episodes[order[1:]] = episodes[order[:-1]]
        before[firsts], before_episodes[firsts] = self.find(ids[firsts])
        before[before_episodes != episodes] = NONE
        return before, firsts, lasts

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
