"""Base of the toys: agents of one behavior in columns, each with an episode of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array
from agents_core.contracts.environment import (
    Actions,
    BehaviorSteps,
    DecisionSteps,
    Environment,
    EnvironmentSteps,
    TerminalSteps,
)
from agents_core.spec import ActionSpec, BehaviorSpec

ActionKind = Literal["discrete", "continuous"]
Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
Int64s = npt.NDArray[np.int64]


class ColumnEnvironment(Environment):
    """An environment in which every agent acts at every step and begins a new episode when one ends.

    A subclass says how episodes `start`, what agents `observe`, and how they `advance`. The observations that it
    hands out may be its own state: they are valid until the next step.

    Attributes:
        agents: How many there are.
        generator: Draws everything that is random here; seeded by `reset`.
        time: int64[agents], decisions taken in the episode.
    """

    def __init__(self, behavior: str, spec: BehaviorSpec, agents: int) -> None:
        self.agents = agents
        self.generator = np.random.default_rng(0)
        self.time: Int64s = np.zeros(agents, np.int64)
        self._behavior = behavior
        self._spec = spec
        self._agent_id: Int64s = np.arange(agents)
        self._nobody = TerminalSteps(
            np.empty(0, np.int64),
            tuple(np.empty((0, *observation.shape), observation.dtype) for observation in spec.observations),
            np.empty(0, np.float32),
            np.empty(0, np.bool_),
        )

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return {self._behavior: self._spec}

    @abstractmethod
    def start(self, rows: Int64s) -> None:
        """Begin episodes of the agents in these rows."""

    @abstractmethod
    def observe(self) -> tuple[Array, ...]:
        """What each agent sees: one array [agents, *shape] for each observation."""

    @abstractmethod
    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        """Let all agents act: reward, terminated and truncated, [agents] each."""

    def mask(self) -> Bools | None:
        """What each agent may choose: [agents, sum of branches]; None = everything."""
        return None

    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        del parameters  # Toys have none.
        if seed is not None:
            self.generator = np.random.default_rng(seed)
        self._start(self._agent_id)
        return self._steps(np.zeros(self.agents, np.float32), self._nobody)

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        reward, terminated, truncated = self.advance(actions[self._behavior])
        self.time += 1
        ended = terminated | truncated
        if not ended.any():
            return self._steps(reward, self._nobody)
        rows = np.flatnonzero(ended)
        final = tuple(observation[rows] for observation in self.observe())
        terminal = TerminalSteps(self._agent_id[rows], final, reward[rows], truncated[rows])
        reward[rows] = 0.0
        self._start(rows)
        return self._steps(reward, terminal)

    def close(self) -> None:
        """There is nothing to free."""

    def _start(self, rows: Int64s) -> None:
        self.time[rows] = 0
        self.start(rows)

    def _steps(self, reward: Floats, terminal: TerminalSteps) -> EnvironmentSteps:
        decision = DecisionSteps(self._agent_id, self.observe(), reward, self.mask())
        return EnvironmentSteps({self._behavior: BehaviorSteps(decision, terminal)})


def one_action(kind: ActionKind) -> ActionSpec:
    """A single action: one of two choices, or a number in [-1, 1]."""
    return ActionSpec(discrete_branches=(2,)) if kind == "discrete" else ActionSpec(continuous_size=1)


def signed_action(actions: Actions) -> Floats:
    """The single action as a number: float32[n], in [-1, 1]; the choices 0 and 1 are -1 and 1."""
    if actions.discrete.shape[1]:
        return (2 * actions.discrete[:, 0] - 1).astype(np.float32)
    return np.clip(actions.continuous[:, 0], -1.0, 1.0)
