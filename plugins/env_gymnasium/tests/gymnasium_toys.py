"""Environments whose every number is known in advance, and ways to drive the adapter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from agents_core.contracts.environment import (
    Actions,
    DecisionSteps,
    Environment,
    EnvironmentContext,
    EnvironmentSteps,
    TerminalSteps,
)
from agents_env_gymnasium.config import GymnasiumConfig
from agents_env_gymnasium.environment import BEHAVIOR
from agents_env_gymnasium.factory import open_environment
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

HERE = Path(__file__).parent


class Counting(gymnasium.Env[Any, Any]):
    """Shows [episode, step] and pays `step`; the k-th episode ends after `lengths[k % len(lengths)]` steps.

    `end` says how: `terminated`, `truncated` or `both`. Actions are kept in `actions`, seeds in `seeds`.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        lengths: Sequence[int] = (3,),
        end: str = "terminated",
        action_space: spaces.Space[Any] | None = None,
        masks: str | None = None,
    ) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.action_space = spaces.Discrete(2) if action_space is None else action_space
        self.lengths, self.end, self.masks = tuple(lengths), end, masks
        self.actions: list[Any] = []
        self.seeds: list[int | None] = []
        self.options: list[Any] = []
        self.episode, self.count = -1, 0
        if masks == "method":
            self.action_masks = self.mask

    def mask(self) -> np.ndarray:
        """Allows one choice alone: the step's number modulo 2."""
        return np.eye(2, dtype=np.int8)[self.count % 2]

    def _observation(self) -> np.ndarray:
        return np.array([self.episode, self.count], np.float32)

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"count": self.count, "deep": {"count": 10 * self.count}, "text": "no number"}
        if self.count == 2:
            info["second"] = 7.0 + self.episode
        return info | ({"action_mask": self.mask()} if self.masks == "info" else {})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.options.append(options)
        self.episode, self.count = self.episode + 1, 0
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        self.actions.append(action)
        self.count += 1
        ended = self.count == self.lengths[self.episode % len(self.lengths)]
        terminated, truncated = ended and self.end != "truncated", ended and self.end != "terminated"
        return self._observation(), float(self.count), terminated, truncated, self._info()


class Random(gymnasium.Env[Any, Any]):
    """Shows a number from its generator, and episodes of two steps."""

    observation_space = spaces.Box(0, 1, (1,), np.float64)
    action_space = spaces.Discrete(2)

    def __init__(self) -> None:
        self.count = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.count = 0
        return self.np_random.random(1), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ARG002
        self.count += 1
        return self.np_random.random(1), 0.0, self.count == 2, False, {}


class Showing(gymnasium.Env[Any, Any]):
    """Has the spaces it is given and shows samples of the observation space; episodes never end."""

    def __init__(self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = observation_space, action_space
        self.shown: list[Any] = []

    def _observation(self) -> Any:
        self.shown.append(self.observation_space.sample())
        return self.shown[-1]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        return self._observation(), 0.0, False, False, {}


def counting_vector(
    num_envs: int,
    mode: str,
    lengths: Sequence[Sequence[int]] = ((3,),),
    end: str = "terminated",
    masks: str | None = None,
) -> VectorEnv[Any, Any, Any]:
    """A vector of `Counting` environments; instance i has the lengths at i modulo their number."""
    makers = [
        lambda number=number: Counting(lengths[number % len(lengths)], end, masks=masks) for number in range(num_envs)
    ]
    env = SyncVectorEnv(makers, autoreset_mode=AutoresetMode[mode])
    if masks == "method":
        env.action_masks = lambda: env.call("action_masks")
    return env


class Batched(gymnasium.vector.VectorWrapper):
    """A `counting_vector` in SAME_STEP whose final observations are one array, not an array of objects."""

    def __init__(self, num_envs: int, lengths: Sequence[Sequence[int]] = ((3,),), end: str = "terminated") -> None:
        super().__init__(counting_vector(num_envs, "SAME_STEP", lengths, end))

    def step(self, actions: Any) -> Any:
        observation, reward, terminated, truncated, info = self.env.step(actions)
        if "final_obs" in info:
            final = observation.copy()
            for row, value in enumerate(info["final_obs"]):
                if value is not None:
                    final[row] = value
            info["final_obs"] = final
        return observation, reward, terminated, truncated, info


def open_config(count: int = 1, first_env: int = 0, directory: Path = HERE, **config: Any) -> Environment:
    """What an experiment with this `environment` section would step."""
    return open_environment(EnvironmentContext(GymnasiumConfig(**config), count, first_env, directory))


def open_numbered(config: GymnasiumConfig, first_env: int, num_envs: int) -> Environment:
    """What a worker pool calls; travels to its workers by pickle when `config` is bound."""
    return open_environment(EnvironmentContext(config, num_envs, first_env, HERE))


def parts(steps: EnvironmentSteps) -> tuple[DecisionSteps, TerminalSteps]:
    """Decision and terminal steps of the only behavior."""
    behavior = steps.behaviors[BEHAVIOR]
    return behavior.decision, behavior.terminal


def act(environment: Environment, continuous: Any = None, discrete: Any = None) -> EnvironmentSteps:
    """One step with the given rows of actions."""
    rows = len(continuous if continuous is not None else discrete)
    return environment.step(
        {
            BEHAVIOR: Actions(
                np.zeros((rows, 0), np.float32) if continuous is None else np.asarray(continuous, np.float32),
                np.zeros((rows, 0), np.int64) if discrete is None else np.asarray(discrete, np.int64),
            )
        }
    )


class Transition(NamedTuple):
    """One decision of one agent, and what came of it."""

    observation: tuple[float, ...]
    reward: float
    next_observation: tuple[float, ...]
    ended: bool
    truncated: bool


def transitions(environment: Environment, ticks: int, choice: int = 0) -> dict[int, list[Transition]]:
    """Every agent's transitions as a learner would see them, from the steps alone."""
    seen: dict[int, list[Transition]] = {}
    waiting: dict[int, tuple[float, ...]] = {}
    steps = environment.reset(seed=0)
    for _ in range(ticks + 1):
        decision, terminal = parts(steps)
        for row, agent in enumerate(terminal.agent_id.tolist()):
            final = tuple(terminal.observations[0][row].tolist())
            ended = Transition(
                waiting.pop(agent), float(terminal.reward[row]), final, True, bool(terminal.truncated[row])
            )
            seen.setdefault(agent, []).append(ended)
        for row, agent in enumerate(decision.agent_id.tolist()):
            observation = tuple(decision.observations[0][row].tolist())
            if agent in waiting:
                going_on = Transition(waiting[agent], float(decision.reward[row]), observation, False, False)
                seen.setdefault(agent, []).append(going_on)
            else:
                assert decision.reward[row] == 0.0, "a newcomer gets nothing for a step it did not make"
            waiting[agent] = observation
        steps = act(environment, discrete=np.full((len(decision), 1), choice))
    return seen
