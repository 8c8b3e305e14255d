"""The environment contract: agents are columns that appear, act and vanish."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array
from agents_core.spec import BehaviorSpec

ConfigT = TypeVar("ConfigT")


@dataclass(slots=True)
class Actions:
    """What the agents of the last `DecisionSteps` do, row for row.

    Attributes:
        continuous: float32[n, continuous_size], executed action, in [-1, 1] where the space is bounded.
        discrete: int64[n, branches].
        raw: float32[n, continuous_size], the policy's sample before clipping or squashing; environments do not read it.
        memory: float32[n, memory_size], what a policy with memory wants to be given at each agent's next action of the
            same episode; environments do not read it.
    """

    continuous: npt.NDArray[np.float32]
    discrete: npt.NDArray[np.int64]
    raw: npt.NDArray[np.float32] | None = None
    memory: npt.NDArray[np.float32] | None = None


@dataclass(slots=True)
class DecisionSteps:
    """Agents that need an action now.

    The arrays may be views of memory that the environment overwrites at its next `step`.

    Attributes:
        agent_id: int64[n], unique among living agents of the environment. The same array object may be returned
            again while the set is unchanged. An agent that starts a new episode may keep its id.
        observations: One array [n, *shape] for each observation of the behavior.
        reward: float32[n], earned since the agent's previous decision; 0 at the first one of an episode.
        action_mask: bool[n, sum of branches], True = allowed; None = everything is.
        group_id: int64[n], agents that share a group reward; -1 = in no group, None = nobody is in one.
        group_reward: float32[n].
    """

    agent_id: npt.NDArray[np.int64]
    observations: tuple[Array, ...]
    reward: npt.NDArray[np.float32]
    action_mask: npt.NDArray[np.bool_] | None = None
    group_id: npt.NDArray[np.int64] | None = None
    group_reward: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.agent_id)


@dataclass(slots=True)
class TerminalSteps:
    """Agents whose episode just ended, with their final observation.

    Attributes:
        agent_id: int64[n]. An agent may stand here and, at the start of its next episode, in `DecisionSteps` too.
        observations: One array [n, *shape] for each observation: the last one of the episode.
        reward: float32[n], earned since the agent's last decision.
        truncated: bool[n], True = cut off by a limit, so that values bootstrap through the end.
        group_id, group_reward: As in `DecisionSteps`.
    """

    agent_id: npt.NDArray[np.int64]
    observations: tuple[Array, ...]
    reward: npt.NDArray[np.float32]
    truncated: npt.NDArray[np.bool_]
    group_id: npt.NDArray[np.int64] | None = None
    group_reward: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.agent_id)


@dataclass(slots=True)
class BehaviorSteps:
    """One behavior's part of an environment step."""

    decision: DecisionSteps
    terminal: TerminalSteps


@dataclass(slots=True)
class EnvironmentSteps:
    """What `reset` and `step` return.

    Attributes:
        behaviors: By behavior name; a behavior without agents in this step may be left out.
        stats: The environment's own statistics since the last step, logged as `env/<key>`: a list of numbers a key.
    """

    behaviors: dict[str, BehaviorSteps]
    stats: dict[str, list[float]] = field(default_factory=dict)


class Environment(ABC):
    """One or several instances of a task, stepped together.

    Any exception from `reset` or `step` ends the run with its cause shown; it is never retried.
    """

    max_instances: int | None = None
    """How many can be open at once; None = any number. 1 for an editor that is connected by hand."""

    hidden_state: tuple[str, ...] = ()
    """Names of parts whose state a seeded reset does not restore, such as a wrapper that keeps running statistics.
    `checkpoints.exact` refuses an environment that has any."""

    @property
    @abstractmethod
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        """Spec of each behavior seen so far; complete after `reset` unless behaviors show up late."""

    @abstractmethod
    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        """Start new episodes everywhere.

        Args:
            seed: An object that hosts many is given the run's and derives each instance's own from it (see
                `agents_core.environments.seeding`); None = go on with the generators as they are.
            parameters: Environment parameters by name.
        """

    @abstractmethod
    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        """Advance until an agent needs a decision.

        Args:
            actions: For every behavior of the last steps that had decisions, in the order of its `agent_id`.
        """

    @abstractmethod
    def close(self) -> None:
        """Free everything; calling it twice is allowed."""


@dataclass(frozen=True, slots=True)
class EnvironmentContext(Generic[ConfigT]):
    """What an environment factory is called with; it travels to worker processes by pickle.

    Attributes:
        config: The plugin's own config model, validated.
        num_envs: Instances that this object hosts (always 1 unless the spec says `hosts_many`).
        first_env: Number of the first of them within the whole run; seeds, ports and log names derive from it.
        directory: Folder of the experiment file, which relative paths start from.
    """

    config: ConfigT
    num_envs: int
    first_env: int
    directory: Path
