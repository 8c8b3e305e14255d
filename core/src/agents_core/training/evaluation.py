"""Measuring policies over whole episodes, the same number from each agent."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agents_core.contracts.environment import Actions, BehaviorSteps, DecisionSteps, EnvironmentSteps, TerminalSteps
from agents_core.contracts.policy import Policy
from agents_core.contracts.worker_pool import WorkerPool
from agents_core.errors import AgentsError, UserError
from agents_core.seeding import named_seed

Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]

MAX_EPISODE_STEPS = 100_000
"""Environment steps without the end of an episode after which an evaluation gives up."""

PATIENCE = 10
"""Environment steps that an agent may stay away between two episodes before others take its share."""

_CLOSED = -2  # The agent is between two episodes.
_UNCOUNTED = -1  # Its episode is none of those that are measured.

_log = logging.getLogger(__name__)


class EvaluationStoppedError(AgentsError):
    """The evaluation was given up because the run is to stop."""


class EndlessEpisodesError(UserError):
    """The environment's episodes do not end, so that they cannot be measured."""


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationResult:
    """What a behavior reached.

    Attributes:
        returns: float64[episodes], sum of the raw environment reward, group rewards included, of each episode, in the
            order in which the episodes began.
        lengths: int64[episodes], decisions of each.
    """

    returns: Float64s
    lengths: Int64s

    @property
    def episodes(self) -> int:
        return len(self.returns)

    @property
    def mean_return(self) -> float:
        return float(self.returns.mean())

    @property
    def std_return(self) -> float:
        """Standard deviation over the episodes (of the population: divided by their number)."""
        return float(self.returns.std())

    @property
    def mean_length(self) -> float:
        return float(self.lengths.mean())


def evaluate(
    policies: Mapping[str, Policy],
    pool: WorkerPool,
    *,
    episodes: int,
    seed: int,
    deterministic: bool = True,
    max_episode_steps: int = MAX_EPISODE_STEPS,
    is_stopped: Callable[[], bool] = lambda: False,
) -> dict[str, EvaluationResult]:
    """Let policies act from fixed starts until enough episodes of every behavior are over.

    Every agent that is there at the start contributes its first episodes, the same number each, so that short episodes
    count no more than long ones: with n agents, `episodes` is rounded up to a multiple of n. Where agents vanish,
    appear later or come back under other ids, episodes count in the order in which they begin, up to the same number.

    Nothing of the training changes: policies draw from generators made of `seed`.

    Args:
        policies: By behavior.
        pool: Environments; they are reset, and stay open.
        episodes: Episodes of each behavior, at least 1.
        seed: Decides the starts and, unless `deterministic`, the samples.
        deterministic: Take the most likely actions instead of samples.
        max_episode_steps: Environment steps without the end of an episode that counts, after which to give up.
        is_stopped: Asked at every step whether to give up.

    Returns:
        Results of the behaviors that showed up before all others were through; a warning names the rest.

    Raises:
        UserError: An agent of a behavior without policy needs an action.
        EndlessEpisodesError: No episode ended in `max_episode_steps`.
        EvaluationStoppedError: `is_stopped` said so.
    """
    if episodes < 1:
        raise ValueError(f"an evaluation needs at least one episode, {episodes} asked for")
    measured = {name: _Measurement(episodes, policy.memory_size) for name, policy in policies.items()}
    generators = {name: np.random.default_rng(named_seed(seed, "evaluation", name)) for name in policies}
    steps = pool.reset(seed)
    last_end = ticks = 0
    while True:
        ended = sum(measured[name].receive(part) for name, part in steps.behaviors.items() if name in measured)
        if ended:
            last_end = ticks
        if _are_complete(measured):
            break
        if is_stopped():
            raise EvaluationStoppedError("the evaluation was stopped")
        if ticks - last_end >= max_episode_steps:
            raise _endless(measured, max_episode_steps)
        steps = pool.step(_act(policies, measured, steps, generators, deterministic))
        ticks += 1
    missing = [name for name, measurement in measured.items() if not measurement.is_begun]
    if missing:
        _log.warning("evaluation: no agent of %s showed up", ", ".join(missing))
    return {name: measurement.result() for name, measurement in measured.items() if measurement.is_begun}


def _act(
    policies: Mapping[str, Policy],
    measured: Mapping[str, _Measurement],
    steps: EnvironmentSteps,
    generators: Mapping[str, np.random.Generator],
    deterministic: bool,
) -> dict[str, Actions]:
    actions = {}
    for name, part in steps.behaviors.items():
        if len(decision := part.decision):
            if name not in policies:
                raise UserError(
                    f"evaluation: behavior {name!r} needs actions, but there is no policy for it; "
                    f"there are policies for: {', '.join(sorted(policies)) or 'none'}"
                )
            actions[name] = policies[name].act(
                decision.observations,
                decision.action_mask,
                memory=measured[name].memory,
                deterministic=deterministic,
                generator=generators[name],
            )
            measured[name].remember(actions[name])
    return actions


def _are_complete(measured: Mapping[str, _Measurement]) -> bool:
    begun = [measurement for measurement in measured.values() if measurement.is_begun]
    return bool(begun) and all(measurement.is_complete for measurement in begun)


def _endless(measured: Mapping[str, _Measurement], max_episode_steps: int) -> EndlessEpisodesError:
    progress = ", ".join(
        f"{name}: {measurement.ended} of {measurement.wanted} episodes" if measurement.is_begun else f"{name}: no agent"
        for name, measurement in measured.items()
    )
    return EndlessEpisodesError(
        f"evaluation: no episode ended in {max_episode_steps} steps ({progress}); give the environment a time limit, "
        "or turn evaluation while training off with `evaluation: {interval: 0}`"
    )


class _Measurement:
    """The episodes of one behavior: who is in which, what the ones that count gave, and what agents remember.

    Agents are rows of arrays, sorted by id; they stay when they are gone, since they may come back.
    """

    def __init__(self, episodes: int, memory_size: int) -> None:
        self._episodes = episodes
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

    def result(self) -> EvaluationResult:
        return EvaluationResult(self._returns, self._lengths)

    @property
    def memory(self) -> npt.NDArray[np.float32] | None:
        """What the agents that act now remember, float32[n, memory_size]; None where the policy has no memory."""
        return self._memory[self._rows] if self._memory.shape[1] else None

    def remember(self, actions: Actions) -> None:
        """Keep what the agents that act now remember from now on."""
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
