"""A made-up environment whose agents do whatever an environment may have them do."""

from __future__ import annotations

import numpy as np
from agents_core.contracts.environment import BehaviorSteps, DecisionSteps, TerminalSteps


class RaggedWorld:
    """Agents that come, ask at different times, end, and return under the same id at once or later."""

    def __init__(self, seed: int, agents: int, steady: bool) -> None:
        self.random = np.random.default_rng(seed)
        self.alive: set[int] = set()
        self.agents = agents
        self.asking = 1.0 if steady else 0.8
        self.arriving = 1.0 if steady else 0.3
        self.counter = 0

    def steps(self) -> BehaviorSteps:
        ended = [agent for agent in sorted(self.alive) if self.random.random() < 0.15]
        self.alive -= set(ended)
        asking = [agent for agent in sorted(self.alive) if self.random.random() < self.asking]
        absent = [agent for agent in range(self.agents) if agent not in self.alive]
        asking += [agent for agent in absent if self.random.random() < self.arriving]
        self.alive |= set(asking)
        if self.asking < 1:
            self.random.shuffle(asking)
        asking = sorted(asking) if self.asking == 1 else asking
        truncated = self.random.random(len(ended)) < 0.5
        return BehaviorSteps(
            DecisionSteps(np.array(asking, np.int64), self.observations(len(asking)), self.rewards(len(asking))),
            TerminalSteps(
                np.array(ended, np.int64), self.observations(len(ended)), self.rewards(len(ended)), truncated
            ),
        )

    def observations(self, count: int) -> tuple[np.ndarray, ...]:
        self.counter += count
        return (np.arange(self.counter - count, self.counter, dtype=np.float32)[:, None],)

    def rewards(self, count: int) -> np.ndarray:
        return self.random.normal(size=count).astype(np.float32)
