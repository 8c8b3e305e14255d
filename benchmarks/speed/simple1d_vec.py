"""The Simple1D toy as a Stable-Baselines3 vector environment: all agents in one set of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv


class Simple1DVecEnv(VecEnv):
    """The same task as `agents_core.testing.toys.Simple1D` with continuous actions.

    Only finished episodes touch Python objects, as the interface asks for.
    """

    STEP = 0.1
    COST = 0.001
    FEWEST_STEPS = 10
    LIMIT = 1000

    def __init__(self, num_agents: int, seed: int) -> None:
        super().__init__(num_agents, spaces.Box(-1, 1, (1,), np.float32), spaces.Box(-1, 1, (1,), np.float32))
        self._random = np.random.default_rng(seed)
        self._position = np.zeros(num_agents)
        self._goal = np.zeros((num_agents, 1), np.float32)
        self._return = np.zeros(num_agents, np.float32)
        self._length = np.zeros(num_agents, np.int64)
        self._actions = np.zeros((num_agents, 1), np.float32)

    def reset(self) -> Any:
        self._start(np.arange(self.num_envs))
        return self._goal.copy()

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> Any:
        self._position += np.clip(self._actions[:, 0], -self.STEP, self.STEP)
        arrived = np.abs(self._position) > 1 - 1e-6
        reward = np.full(self.num_envs, -self.COST, np.float32)
        if arrived.any():
            side = np.sign(self._position) * self._goal[:, 0]
            reward[arrived] += (side * (1 + self.FEWEST_STEPS * self.COST))[arrived]
        self._return += reward
        self._length += 1
        truncated = ~arrived & (self._length >= self.LIMIT)
        done = arrived | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        (finished,) = done.nonzero()
        for agent in finished:
            infos[agent] = {
                "terminal_observation": self._goal[agent].copy(),
                "TimeLimit.truncated": bool(truncated[agent]),
                "episode": {"r": float(self._return[agent]), "l": int(self._length[agent]), "t": 0.0},
            }
        if len(finished):
            self._start(finished)
        return self._goal.copy(), reward, done, infos

    def _start(self, agents: np.ndarray) -> None:
        self._position[agents] = 0
        self._return[agents] = 0
        self._length[agents] = 0
        self._goal[agents, 0] = self._random.integers(0, 2, len(agents)) * 2 - 1

    def close(self) -> None:
        """Nothing is held."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name, None)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:  # noqa: ARG002 - the interface's
        return [False] * len(list(self._get_indices(indices)))

    def get_images(self) -> Sequence[None]:
        return [None] * self.num_envs
