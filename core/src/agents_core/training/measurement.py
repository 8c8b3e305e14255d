"""Which episodes of an evaluation count, and what they gave."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from agents_core.contracts.environment import Actions, BehaviorSteps, DecisionSteps, TerminalSteps
from agents_core.demonstrations.recording import EpisodeRecorder

Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]

PATIENCE = 10
"""Environment steps that an agent may stay away between two episodes before others take its share."""

_CLOSED = -2  # The agent is between two episodes.
_UNCOUNTED = -1  # Its episode is none of those that are measured.


class Measurement:
    """The episodes of one behavior: who is in which, what the ones that count gave, and what agents remember.

    Agents are rows of arrays, sorted by id; they stay when they are gone, since they may come back.

    Args:
        episodes: How many to measure.
        memory_size: As of the policy.
        recorder: Is told everything about the episodes that count; None = only returns and lengths are kept.
    """

    def __init__(self, episodes: int, memory_size: int, recorder: EpisodeRecorder | None = None) -> None:
        self._episodes = episodes
        self._recorder = recorder
        self._quota = 0  # Episodes of each agent; 0 = no agent was seen yet.
        self._ids: Int64s = np.empty(0, np.int64)
        self._begun: Int64s = np.empty(0, np.int64)  # Counted episodes that each agent has begun.
        self._place: Int64s = np.empty(0, np.int64)  # Of its open episode within the results.
        self._return: Float64s = np.empty(0, np.float64)
        self._length: Int64s = np.empty(0, np.int64)
        self._memory: npt.NDArray[np.float32] = np.empty((0, memory_size), np.float32)
        self._acting: Int64s | None = None
        self._rows: Int64s = np.empty(0, np.int64)  # Of the agents in `_acting`.
        self._returns: Float64s = np.empty(0, np.float64)
        self._lengths: Int64s = np.empty(0, np.int64)
        self._total_begun = 0
        self._idle_steps = 0  # Since a counted episode was open.
        self.ended = 0

    @property
    def is_begun(self) -> bool:
        return self._quota > 0

    @property
    def wanted(self) -> int:
        return len(self._returns)

    @property
    def is_complete(self) -> bool:
        return self.ended == self.wanted

    @property
    def returns(self) -> Float64s:
        """float64[episodes], of each episode that counts, in the order in which they began."""
        return self._returns

    @property
    def lengths(self) -> Int64s:
        """int64[episodes], decisions of each."""
        return self._lengths

    @property
    def memory(self) -> npt.NDArray[np.float32] | None:
        """What the agents that act now remember, float32[n, memory_size]; None where the policy has no memory."""
        return self._memory[self._rows] if self._memory.shape[1] else None

    def remember(self, decision: DecisionSteps, actions: Actions) -> None:
        """Keep what the agents that act now remember from now on."""
        if self._recorder is not None:
            self._recorder.act(self._place[self._rows], decision, actions)
        if actions.memory is not None:
            self._memory[self._rows] = actions.memory

    def receive(self, steps: BehaviorSteps) -> int:
        """Take in one environment step; returns how many counted episodes ended."""
        ended = self._end(steps.terminal) if len(steps.terminal) else 0
        is_idle = not ended and self.ended == self._total_begun
        self._idle_steps = self._idle_steps + 1 if is_idle else 0
        if len(steps.decision):
            self._go_on(steps.decision)
        return ended

    def _end(self, terminal: TerminalSteps) -> int:
        rows, known = self._find(terminal.agent_id)
        rows, reward = rows[known], _reward(terminal)[known]
        counted = self._place[rows] >= 0
        places = self._place[rows[counted]]
        if self._recorder is not None:
            self._recorder.end(places, terminal, np.flatnonzero(known)[counted])
        self._returns[places] = (self._return[rows] + reward)[counted]
        self._lengths[places] = self._length[rows[counted]]
        self._place[rows] = _CLOSED
        self.ended += len(places)
        return len(places)

    def _go_on(self, decision: DecisionSteps) -> None:
        if decision.agent_id is not self._acting:
            self._rows = self._find_or_add(decision.agent_id)
            self._acting = decision.agent_id
        rows = self._rows
        if self._recorder is not None:
            self._recorder.reward(self._place[rows], decision)
        self._return[rows] += _reward(decision)
        closed = self._place[rows] == _CLOSED
        if closed.any():
            self._open(rows[closed])
        self._length[rows] += 1

    def _open(self, rows: Int64s) -> None:
        """Begin episodes of these agents; those within the quota count, as long as there is room.

        Where the agents that still have episodes to give stay away, those of the others count as well.
        """
        if not self.is_begun:
            self._quota = math.ceil(self._episodes / len(rows))
            self._returns = np.zeros(self._quota * len(rows))
            self._lengths = np.zeros(self._quota * len(rows), np.int64)
        self._return[rows] = 0.0
        self._length[rows] = 0
        self._memory[rows] = 0.0
        self._place[rows] = _UNCOUNTED
        within = rows if self._idle_steps > PATIENCE else rows[self._begun[rows] < self._quota]
        counted = within[: self.wanted - self._total_begun]
        self._place[counted] = np.arange(self._total_begun, self._total_begun + len(counted))
        self._begun[counted] += 1
        self._total_begun += len(counted)

    def _find(self, agent_id: Int64s) -> tuple[Int64s, npt.NDArray[np.bool_]]:
        """Row of each agent, and whether it is known; the row of an unknown one is where it belongs."""
        rows = np.searchsorted(self._ids, agent_id)
        known = rows < len(self._ids)
        known[known] = self._ids[rows[known]] == agent_id[known]
        return rows, known

    def _find_or_add(self, agent_id: Int64s) -> Int64s:
        rows, known = self._find(agent_id)
        if not known.all():
            newcomers = np.sort(agent_id[~known])
            places = np.searchsorted(self._ids, newcomers)
            self._ids = np.insert(self._ids, places, newcomers)
            self._begun = np.insert(self._begun, places, 0)
            self._place = np.insert(self._place, places, _CLOSED)
            self._return = np.insert(self._return, places, 0.0)
            self._length = np.insert(self._length, places, 0)
            self._memory = np.insert(self._memory, places, 0.0, axis=0)
            rows, _ = self._find(agent_id)
        return rows


def _reward(steps: DecisionSteps | TerminalSteps) -> Float64s:
    """float64[n], the environment's reward with the group's."""
    reward = steps.reward.astype(np.float64)
    return reward if steps.group_reward is None else reward + steps.group_reward
