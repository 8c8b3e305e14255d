"""Bookkeeping of the agents that are alive: who they are and where their open row is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


NO_ROW = -1
"""The agent waits for no reward."""
UNRECORDED = -2
"""The agent waits for the reward of an action that no row holds."""


class AgentTable:
    """Maps agent ids to slots of arrays, without a Python loop over agents.

    Attributes:
        row: int64[slots], row of the experience that waits for the agent's reward; `NO_ROW` or `UNRECORDED`.
        episode_id: int64[slots], number of the agent's episode.
        episode_return: float64[slots], raw reward of the episode so far.
        episode_length: int64[slots], decisions of the episode so far.
        memory: float32[slots, memory_size], what the policy remembers of the episode; 0 at its start.
        next_episode: Number of the next episode that begins.
    """

    def __init__(self, memory_size: int = 0, next_episode: int = 0) -> None:
        self.ids: Int64s = np.empty(0, np.int64)
        self.row: Int64s = np.empty(0, np.int64)
        self.episode_id: Int64s = np.empty(0, np.int64)
        self.episode_return: npt.NDArray[np.float64] = np.empty(0, np.float64)
        self.episode_length: Int64s = np.empty(0, np.int64)
        self.memory: npt.NDArray[np.float32] = np.empty((0, memory_size), np.float32)
        self.next_episode = next_episode
        self._order: Int64s = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, agent_id: Int64s) -> Int64s:
        """Slot of each agent, -1 for unknown ones."""
        if not len(self.ids):
            return np.full(len(agent_id), -1, np.int64)
        place = np.searchsorted(self.ids, agent_id, sorter=self._order)
        slots = self._order[np.minimum(place, len(self.ids) - 1)]
        slots[self.ids[slots] != agent_id] = -1
        return slots

    def admit(self, agent_id: Int64s) -> Int64s:
        """Slots of the agents, with new ones for those that are unknown; forgets agents that are gone.

        An agent is gone when it waits for no reward and is not among `agent_id`.
        """
        known = self.find(agent_id)
        keep = self.row != NO_ROW
        keep[known[known >= 0]] = True
        newcomers = agent_id[known < 0]
        self.ids = np.concatenate([self.ids[keep], newcomers])
        self.row = _extended(self.row[keep], len(newcomers), NO_ROW)
        self.episode_return = np.concatenate([self.episode_return[keep], np.zeros(len(newcomers))])
        self.episode_length = _extended(self.episode_length[keep], len(newcomers), 0)
        self.episode_id = np.concatenate([self.episode_id[keep], self._new_episodes(len(newcomers))])
        forgotten = np.zeros((len(newcomers), self.memory.shape[1]), np.float32)
        self.memory = np.concatenate([self.memory[keep], forgotten])
        self._order = np.argsort(self.ids, kind="stable")
        return self.find(agent_id)

    def start_episodes(self, slots: Int64s) -> None:
        """Begin anew in slots whose episode ended."""
        self.row[slots] = NO_ROW
        self.episode_return[slots] = 0.0
        self.episode_length[slots] = 0
        self.memory[slots] = 0.0
        self.episode_id[slots] = self._new_episodes(len(slots))

    def _new_episodes(self, count: int) -> Int64s:
        first, self.next_episode = self.next_episode, self.next_episode + count
        return np.arange(first, first + count)


def _extended(array: Int64s, count: int, value: int) -> Int64s:
    return np.concatenate([array, np.full(count, value, np.int64)])
