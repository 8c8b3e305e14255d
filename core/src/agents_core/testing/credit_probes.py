"""Probe environments that show in what a policy does whether later rewards are credited and ends are told apart."""

from __future__ import annotations

from typing import Literal

import numpy as np

from agents_core.columns import Array
from agents_core.contracts.environment import Actions
from agents_core.spec import BehaviorSpec, ObservationSpec
from agents_core.testing.column_environment import (
    ActionKind,
    Bools,
    ColumnEnvironment,
    Floats,
    Int64s,
    one_action,
    signed_action,
)

_SEES = ObservationSpec("probe", (1,))


class LaterReward(ColumnEnvironment):
    """Two decisions: the first one, at the observation 0, decides what the second one pays.

    The second observation is 1 if the first action was positive, else -1, and the reward that follows is 1 or 0: does
    a trainer credit what was done before? Trainers of single transitions can, as the observation says it all. The best
    return is 1.
    """

    def __init__(self, agents: int = 1, action: ActionKind = "discrete") -> None:
        super().__init__("Probe", BehaviorSpec((_SEES,), one_action(action)), agents)
        self._is_right: Bools = np.zeros(agents, np.bool_)

    def start(self, rows: Int64s) -> None:
        """Nothing but the time changes."""

    def observe(self) -> tuple[Array, ...]:
        done = np.where(self._is_right, np.float32(1), np.float32(-1))
        return (np.where(self.time == 0, np.float32(0), done)[:, None],)

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        ended = self.time == 1
        self._is_right[~ended] = signed_action(actions)[~ended] > 0
        return (ended & self._is_right).astype(np.float32), ended, np.zeros(self.agents, np.bool_)


class EndOrLimit(ColumnEnvironment):
    """Is an end by a limit worth what was seen last, and a termination nothing?

    Episodes of one decision start at the observation 0 or 1. At 1, everything pays 1. At 0, a negative action pays 0.5
    and terminates; a positive one pays nothing and ends with the final observation 1: by a limit, so that it is worth
    γ · 1 and the better choice, or by termination, so that it is worth nothing.
    """

    def __init__(self, end: Literal["limit", "termination"], agents: int = 1, action: ActionKind = "discrete") -> None:
        super().__init__("Probe", BehaviorSpec((_SEES,), one_action(action)), agents)
        self._is_limit = end == "limit"
        self._seen: Floats = np.zeros((agents, 1), np.float32)

    def start(self, rows: Int64s) -> None:
        self._seen[rows, 0] = self.generator.integers(0, 2, len(rows))

    def observe(self) -> tuple[Array, ...]:
        return (self._seen,)

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        at_one = self._seen[:, 0] == 1
        goes = ~at_one & (signed_action(actions) > 0)
        reward = np.where(at_one, 1.0, np.where(goes, 0.0, 0.5)).astype(np.float32)
        self._seen[goes, 0] = 1.0
        cut = goes & self._is_limit
        return reward, ~cut, cut


class Numbered(ColumnEnvironment):
    """Every observation is another one: [agent, the agent's episode, decisions taken in it].

    Episodes have 3 to 9 decisions and end by termination or by a limit. A positive action pays 0.125.
    """

    def __init__(self, agents: int = 1, action: ActionKind = "discrete") -> None:
        super().__init__("Numbered", BehaviorSpec((ObservationSpec("row", (3,)),), one_action(action)), agents)
        self._episode: Int64s = np.full(agents, -1, np.int64)
        self._length: Int64s = np.zeros(agents, np.int64)

    def start(self, rows: Int64s) -> None:
        self._episode[rows] += 1
        self._length[rows] = self.generator.integers(3, 10, len(rows))

    def observe(self) -> tuple[Array, ...]:
        return (np.stack([np.arange(self.agents), self._episode, self.time], axis=1).astype(np.float32),)

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        ended = self.time + 1 >= self._length
        by_limit = self._length % 2 == 0
        reward = np.where(signed_action(actions) > 0, np.float32(0.125), np.float32(0))
        return reward, ended & ~by_limit, ended & by_limit
