"""A toy whose agents appear, act and vanish at different times, in several behaviors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from agents_core.columns import Array
from agents_core.contracts.environment import (
    Actions,
    BehaviorSteps,
    DecisionSteps,
    Environment,
    EnvironmentSteps,
    TerminalSteps,
)
from agents_core.environments.stacking import stack_terminals
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.column_environment import Bools, Floats, Int64s

CHOICES = 3


class Ragged(Environment):
    """Agents that are born, act every one to three ticks, end an episode, go on under the same id or vanish.

    Every observation tells what it is of: [agent id, the agent's episode, decisions taken in the episode]; and the
    reward of a decision is `expected_reward`. So a test can judge any row of experience on its own.

    Args:
        agents: Places for agents, in each behavior.
        behaviors: Names, such as `Ragged` or `Ragged?team=1`. Those at even places choose among three actions, one
            of which is always forbidden; the others have two continuous ones.
        late_after: The last of several behaviors shows up after this many steps.
        groups: Whether agents share groups, two by two, with a group reward of 0.25 a decision; the first two
            places have no group.
        image: Whether there is a second observation, a uint8 image.
    """

    def __init__(
        self,
        agents: int = 8,
        behaviors: Sequence[str] = ("Ragged",),
        late_after: int = 0,
        groups: bool = False,
        image: bool = False,
    ) -> None:
        if late_after and len(behaviors) == 1:
            raise ValueError("the only behavior cannot be late")
        self._populations = {
            name: _Population(agents, place % 2 == 0, groups, image) for place, name in enumerate(behaviors)
        }
        self._late = list(self._populations)[-1]
        self._late_after = late_after
        self._steps = 0
        self._specs: dict[str, BehaviorSpec] = {}
        self._generator = np.random.default_rng(0)

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return dict(self._specs)

    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        del parameters  # There are none.
        if seed is not None:
            self._generator = np.random.default_rng(seed)
        self._steps = 0
        for population in self._populations.values():
            population.clear()
        return self._advance()

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        self._steps += 1
        for name, population in self._present().items():
            if len(population.acting):
                population.act(actions[name], self._generator)
        return self._advance()

    def close(self) -> None:
        """There is nothing to free."""

    def _present(self) -> dict[str, _Population]:
        return {
            name: population
            for name, population in self._populations.items()
            if name != self._late or self._steps >= self._late_after
        }

    def _advance(self) -> EnvironmentSteps:
        """Let ticks pass until an agent needs a decision."""
        populations = self._present()
        self._specs.update({name: population.spec for name, population in populations.items()})
        ends: dict[str, list[TerminalSteps]] = {name: [] for name in populations}
        acting = False
        while not acting:
            for name, population in populations.items():
                ends[name].append(population.tick(self._generator))
                acting = acting or len(population.acting) > 0
        steps = EnvironmentSteps({}, {"acting": [float(sum(len(group.acting) for group in populations.values()))]})
        for name, population in populations.items():
            terminal = stack_terminals([0] * len(ends[name]), ends[name], 1)
            if len(population.acting) or len(terminal):
                steps.behaviors[name] = BehaviorSteps(population.decide(), terminal)
        return steps


def expected_reward(agent_id: Int64s | Floats, time: Int64s | Floats, action: Floats) -> Floats:
    """What a decision pays: float32[n]; exact in float32 for ids below 100,000.

    Args:
        agent_id: Who decided.
        time: How many decisions it had taken in its episode before.
        action: The choice, or the sum of the continuous actions rounded to eighths.
    """
    return np.asarray(agent_id % 1000 + time / 8 + np.round(action * 8) / 8, np.float32)


class _Population:
    """The agents of one behavior: places that are empty, or hold an agent that waits or acts."""

    def __init__(self, size: int, discrete: bool, groups: bool, image: bool) -> None:
        observations = [ObservationSpec("who", (3,))]
        if image:
            observations.append(ObservationSpec("picture", (2, 2, 1), "uint8", "image"))
        action = ActionSpec(discrete_branches=(CHOICES,)) if discrete else ActionSpec(continuous_size=2)
        self.spec = BehaviorSpec(tuple(observations), action)
        self._group_id: Int64s | None = np.arange(size) // 2 - 1 if groups else None
        self._size = size
        self.clear()

    def clear(self) -> None:
        """Empty all places but the first, where an agent is born at once."""
        self.acting: Int64s = np.empty(0, np.int64)
        self._next_id = 0
        self._alive: Bools = np.zeros(self._size, np.bool_)
        self._agent_id: Int64s = np.zeros(self._size, np.int64)
        self._episode: Int64s = np.zeros(self._size, np.int64)
        self._time: Int64s = np.zeros(self._size, np.int64)
        self._wait: Int64s = np.zeros(self._size, np.int64)
        self._owed: Floats = np.zeros(self._size, np.float32)
        self._bear(np.arange(1))

    def act(self, actions: Actions, generator: np.random.Generator) -> None:
        """Take in the actions of `acting`."""
        rows = self.acting
        if self.spec.action.discrete_branches:
            chosen = actions.discrete[:, 0]
            if not np.take_along_axis(self._mask(rows), chosen[:, None], axis=1).all():
                raise ValueError(f"a forbidden choice is among {chosen}")
            value = chosen.astype(np.float32)
        else:
            value = actions.continuous.sum(axis=1, dtype=np.float32)
        self._owed[rows] = expected_reward(self._agent_id[rows], self._time[rows], value)
        self._time[rows] += 1
        self._wait[rows] = generator.integers(1, 4, len(rows))

    def tick(self, generator: np.random.Generator) -> TerminalSteps:
        """Let time pass: agents end, are born, and some need a decision (`acting`).

        Returns:
            The agents that ended.
        """
        self._wait -= 1
        chance = generator.random((3, self._size))
        ended = np.flatnonzero(self._alive & (self._time > 0) & (chance[0] < 0.1))
        terminal = TerminalSteps(
            self._agent_id[ended],
            self._observe(ended),
            self._owed[ended],
            chance[1, ended] < 0.5,
            *self._groups(ended),
        )
        goes_on = chance[2] < 0.5
        self._alive[ended[~goes_on[ended]]] = False
        self._begin(ended[goes_on[ended]])
        self._bear(np.flatnonzero(~self._alive & (chance[1] < 0.2)))
        self.acting = np.flatnonzero(self._alive & (self._wait <= 0))
        return terminal

    def decide(self) -> DecisionSteps:
        """The agents that need a decision, with what their last one paid."""
        rows = self.acting
        mask = self._mask(rows) if self.spec.action.discrete_branches else None
        steps = DecisionSteps(self._agent_id[rows], self._observe(rows), self._owed[rows], mask, *self._groups(rows))
        self._owed[rows] = 0.0
        return steps

    def _bear(self, rows: Int64s) -> None:
        self._alive[rows] = True
        self._agent_id[rows] = np.arange(self._next_id, self._next_id + len(rows))
        self._next_id += len(rows)
        self._episode[rows] = -1
        self._begin(rows)

    def _begin(self, rows: Int64s) -> None:
        self._episode[rows] += 1
        self._time[rows] = 0
        self._wait[rows] = 0
        self._owed[rows] = 0.0

    def _observe(self, rows: Int64s) -> tuple[Array, ...]:
        who = np.stack([self._agent_id[rows], self._episode[rows], self._time[rows]], axis=1).astype(np.float32)
        if len(self.spec.observations) == 1:
            return (who,)
        picture = np.empty((len(rows), 2, 2, 1), np.uint8)
        picture[:] = (self._agent_id[rows] % 256)[:, None, None, None]
        return (who, picture)

    def _mask(self, rows: Int64s) -> Bools:
        forbidden = (self._agent_id[rows] + self._time[rows]) % CHOICES
        allowed: Bools = np.arange(CHOICES) != forbidden[:, None]
        return allowed

    def _groups(self, rows: Int64s) -> tuple[Int64s, Floats] | tuple[None, None]:
        if self._group_id is None:
            return None, None
        group_id = self._group_id[rows]
        paid = (group_id >= 0) & (self._time[rows] > 0)
        return group_id, np.where(paid, np.float32(0.25), np.float32(0))
