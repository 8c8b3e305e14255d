"""Collectors: turn environment steps into experience and finished episodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array, Columns
from agents_core.contracts.environment import Actions, BehaviorSteps, DecisionSteps, TerminalSteps
from agents_core.experience.agents import NO_ROW, UNRECORDED, AgentTable, Int64s
from agents_core.experience.rollout import RolloutBuffer
from agents_core.experience.rows import RowLog
from agents_core.spec import BehaviorSpec
from agents_core.trajectory import Trajectories


@dataclass(frozen=True, slots=True)
class Episodes:
    """Episodes that ended, in the order of their ends.

    Attributes:
        returns: float64[n], sum of raw environment rewards, group rewards included.
        lengths: int64[n], decisions.
    """

    returns: npt.NDArray[np.float64]
    lengths: Int64s

    def __len__(self) -> int:
        return len(self.returns)


class Collector(ABC):
    """Collects the experience of one behavior; agents may appear, vanish and act at different times.

    The order of calls at each environment step: `receive` what the environment gave, perhaps `take` experience, and
    where `decision` is not empty: act on `observations` and `memory`, and `record` the actions.

    Args:
        log: Keeps the rows.
        memory_size: As of the policy.
    """

    def __init__(self, log: RowLog, memory_size: int = 0) -> None:
        self._memory_size = memory_size
        self._agents = AgentTable(memory_size)
        self._log = log
        self._ids: Int64s = np.empty(0, np.int64)
        self._slots: Int64s = np.empty(0, np.int64)
        self._rows = slice(0, 0)
        self._tick = 0
        self._ended: list[Episodes] = []
        self.decision: DecisionSteps | None = None
        """Agents that need an action now."""
        self.steps = 0
        """Decisions whose reward has arrived."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """Complete rows that wait to be taken."""

    @abstractmethod
    def take(self) -> Trajectories | Columns:
        """The complete rows, as the trainer wants them."""

    @abstractmethod
    def discard(self) -> None:
        """Drop the complete rows."""

    @property
    def episodes_begun(self) -> int:
        """How many episodes have a number; to be set before any step where a run goes on."""
        return self._agents.next_episode

    @episodes_begun.setter
    def episodes_begun(self, count: int) -> None:
        self._agents.next_episode = count

    @property
    def observations(self) -> tuple[Array, ...]:
        """What the agents that need an action see; one array [n, *shape] for each observation."""
        return self._log.observations(self._rows)

    @property
    def memory(self) -> npt.NDArray[np.float32] | None:
        """What the agents that need an action remember, float32[n, memory_size]; None where policies have no memory."""
        return self._agents.memory[self._slots] if self._memory_size else None

    def receive(self, steps: BehaviorSteps) -> None:
        """Take in one environment step: rewards and ends for the last actions, rows for the next ones."""
        if len(steps.terminal):
            self._end_episodes(steps.terminal)
        self.decision = steps.decision if len(steps.decision) else None
        if self.decision is not None:
            self._reward(self.decision)
            self._open_rows(self.decision)
        self._tick += 1

    def wait(self) -> None:
        """Pass over an environment step in which none of the behavior's agents took part."""
        self.decision = None
        self._tick += 1

    def record(self, actions: Actions) -> None:
        """Store what the agents of `decision` do, and what they remember from now on."""
        self._log.set_actions(self._rows, actions)
        if actions.memory is not None:
            self._agents.memory[self._slots] = actions.memory

    def restart(self) -> None:
        """Forget all agents and rows that wait, as before a reset of the environment."""
        self._agents = AgentTable(self._memory_size, self._agents.next_episode)
        self._ids = np.empty(0, np.int64)
        self.decision = None

    def pop_episodes(self) -> Episodes:
        """Episodes that ended since the last call."""
        ended, self._ended = self._ended, []
        return Episodes(
            np.concatenate([np.empty(0), *(episodes.returns for episodes in ended)]),
            np.concatenate([np.empty(0, np.int64), *(episodes.lengths for episodes in ended)]),
        )

    def _end_episodes(self, terminal: TerminalSteps) -> None:
        agents = self._agents
        slots = agents.find(terminal.agent_id)
        known = slots >= 0
        if not known.all():  # An agent that never acted has no experience to end.
            terminal, slots = _take_terminal(terminal, known), slots[known]
        rows = agents.row[slots]
        recorded = rows >= 0
        self.steps += int(np.count_nonzero(rows != NO_ROW))
        if recorded.all():
            self._log.end(rows, terminal)
        else:
            self._log.end(rows[recorded], _take_terminal(terminal, recorded))
        returns = agents.episode_return[slots] + _total_reward(terminal)
        self._ended.append(Episodes(returns, agents.episode_length[slots] + (rows != NO_ROW)))
        agents.start_episodes(slots)

    def _reward(self, decision: DecisionSteps) -> None:
        """Give agents that go on the reward of their last action."""
        agents = self._agents
        if decision.agent_id is not self._ids and not np.array_equal(decision.agent_id, self._ids):
            self._slots = agents.admit(decision.agent_id)
        self._ids = decision.agent_id
        slots = self._slots
        rows = agents.row[slots]
        waiting = rows != NO_ROW
        # A newcomer gets nothing for a step it did not make.
        agents.episode_return[slots] += np.where(waiting, _total_reward(decision), 0.0)
        agents.episode_length[slots] += waiting
        self.steps += int(np.count_nonzero(waiting))
        recorded = rows >= 0
        if recorded.all():
            self._log.go_on(rows, decision)
        elif recorded.any():
            self._log.go_on(rows[recorded], _take_decision(decision, recorded))

    def _open_rows(self, decision: DecisionSteps) -> None:
        self._rows = self._log.open(decision, self._agents.episode_id[self._slots], self._tick, self.memory)
        self._agents.row[self._slots] = np.arange(self._rows.start, self._rows.stop)


class TrajectoryCollector(Collector):
    """For trainers of trajectories: a rollout at once.

    Args:
        spec: What the agents see and do.
        rollout_size: Rows to make room for; more are possible.
        time_horizon: Longest trajectory.
        memory_size: As of the policy.
    """

    def __init__(self, spec: BehaviorSpec, rollout_size: int, time_horizon: int, memory_size: int = 0) -> None:
        self._buffer = RolloutBuffer(spec, rollout_size + 256)
        super().__init__(self._buffer, memory_size)
        self._time_horizon = time_horizon

    @property
    def rows(self) -> int:
        return self._buffer.completed

    def take(self) -> Trajectories:
        """Everything since the last rollout; trajectories that go on are cut here.

        An agent whose reward is not there yet loses the row that waits for it, so that no rollout mixes two policies.
        """
        trajectories = self._buffer.take(self._time_horizon)
        self._forget_rows()
        return trajectories

    def discard(self) -> None:
        self._buffer.clear()
        self._forget_rows()

    def restart(self) -> None:
        self._buffer.clear()
        super().restart()

    def _forget_rows(self) -> None:
        """After the buffer was emptied: agents that act now get new rows, the reward of others goes unrecorded."""
        row = self._agents.row
        row[row >= 0] = UNRECORDED
        if self.decision is not None:
            self._open_rows(self.decision)


def _total_reward(steps: DecisionSteps | TerminalSteps) -> npt.NDArray[np.float32]:
    return steps.reward if steps.group_reward is None else steps.reward + steps.group_reward


def _take_terminal(terminal: TerminalSteps, rows: npt.NDArray[np.bool_]) -> TerminalSteps:
    return TerminalSteps(
        terminal.agent_id[rows],
        tuple(observation[rows] for observation in terminal.observations),
        terminal.reward[rows],
        terminal.truncated[rows],
        None if terminal.group_id is None else terminal.group_id[rows],
        None if terminal.group_reward is None else terminal.group_reward[rows],
    )


def _take_decision(decision: DecisionSteps, rows: npt.NDArray[np.bool_]) -> DecisionSteps:
    return DecisionSteps(
        decision.agent_id[rows],
        tuple(observation[rows] for observation in decision.observations),
        decision.reward[rows],
        None if decision.action_mask is None else decision.action_mask[rows],
        None if decision.group_id is None else decision.group_id[rows],
        None if decision.group_reward is None else decision.group_reward[rows],
    )
