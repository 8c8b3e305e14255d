"""A toy that only a policy with memory solves."""

from __future__ import annotations

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


class RememberedCue(ColumnEnvironment):
    """Say at the end which of two cues, -1 or 1, was seen at the start; behavior `RememberedCue`.

    The cue is seen at the first decision only. `DELAY` decisions later the second number of the observation, else 0, is
    1, and the sign of the action is the answer: reward 1 if it is right, else -1. Whatever is done before that pays
    nothing. The best return is 1; the mean without memory is 0, whatever is done.
    """

    DELAY = 8

    def __init__(self, agents: int = 1, action: ActionKind = "discrete") -> None:
        spec = BehaviorSpec((ObservationSpec("cue", (2,)),), one_action(action))
        super().__init__("RememberedCue", spec, agents)
        self._cue: Floats = np.ones(agents, np.float32)

    def start(self, rows: Int64s) -> None:
        self._cue[rows] = self.generator.choice([-1.0, 1.0], len(rows))

    def observe(self) -> tuple[Array, ...]:
        seen = np.where(self.time == 0, self._cue, np.float32(0))
        return (np.stack([seen, self.time >= self.DELAY], axis=1).astype(np.float32),)

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        answers = self.time == self.DELAY
        is_right = signed_action(actions) * self._cue > 0
        reward = np.where(answers, np.where(is_right, 1.0, -1.0), 0.0).astype(np.float32)
        return reward, answers, np.zeros(self.agents, np.bool_)
