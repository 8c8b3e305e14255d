"""Single environments, stepped one after another into columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from agents_core.contracts.environment import Actions, EnvironmentContext, EnvironmentSteps, TerminalSteps
from agents_core.errors import EnvironmentFailedError, UserError

from agents_env_gymnasium.config import GymnasiumConfig
from agents_env_gymnasium.environment import BEHAVIOR, GymnasiumEnvironment
from agents_env_gymnasium.hidden_state import stateful_wrappers
from agents_env_gymnasium.masks import Masks
from agents_env_gymnasium.observations import MASK_KEY
from agents_env_gymnasium.quick_contains import quicken

Env = gymnasium.Env[Any, Any]


class SerialEnvironment(GymnasiumEnvironment):
    """Hosts single environments; one that ends an episode is reset at once, so that no agent is ever missing."""

    def __init__(
        self, context: EnvironmentContext[GymnasiumConfig], envs: Sequence[Env], step_limit: int | None
    ) -> None:
        """Take over environments.

        Args:
            context: What the factory was called with.
            envs: As many as the context says, all of one kind.
            step_limit: Truncate episodes after this many steps; None = the environments do it themselves.

        Raises:
            UserError: A space cannot be learned from, or the environments differ in their spaces.
        """
        first = envs[0]
        super().__init__(context, first.observation_space, first.action_space)
        for env in envs:
            if (env.observation_space, env.action_space) != (first.observation_space, first.action_space):
                raise UserError(
                    f"environment: instances of '{self._name}' differ in their spaces: {env.observation_space}, "
                    f"{env.action_space} and {first.observation_space}, {first.action_space}"
                )
            quicken(env.unwrapped.action_space)
        self.hidden_state = stateful_wrappers(first)
        self._envs = envs
        self._step_functions = [env.step for env in envs]
        self._mask_functions = self._find_mask_functions(envs)
        self._columns = self._observations.empty(self._count)
        self._reward = np.zeros(self._count, np.float32)
        self._tick = 0
        self._step_limit = math.inf if step_limit is None else step_limit
        self._deadlines = [self._step_limit] * self._count

    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        self._set_options(parameters)
        started = [self._reset_one(number, seed) for number in range(self._count)]
        observations, infos = [observation for observation, _ in started], [info for _, info in started]
        for number, observation in enumerate(observations):
            try:
                self._observations.check(observation)
            except EnvironmentFailedError as error:
                raise self._failed(number, "gave an observation that its space does not hold", error) from error
        self._reward[:] = 0.0
        self._observations.write_rows(observations, self._columns)
        masks = self._read_masks(observations, infos)
        return self._step_of(self._agent_id, self._columns, self._reward, masks, self._no_terminal, {})

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        observations, rewards, terminated, truncated, infos = self._advance(self._actions.rows(actions[BEHAVIOR]))
        self._tick += 1
        self._reward[:] = rewards
        stats = self._stats.read_rows(infos) if self._stats else {}
        terminal = self._no_terminal
        if any(terminated) or any(truncated) or self._tick >= min(self._deadlines):
            observations, infos = list(observations), list(infos)
            terminal = self._end_episodes(observations, infos, terminated, truncated)
        self._observations.write_rows(observations, self._columns)
        masks = self._read_masks(observations, infos)
        return self._step_of(self._agent_id, self._columns, self._reward, masks, terminal, stats)

    def close(self) -> None:
        envs, self._envs = self._envs, []
        for env in envs:
            env.close()

    def _advance(self, actions: Sequence[Any]) -> Sequence[Any]:
        """One step everywhere: observations, rewards, terminated, truncated and infos, n of each."""
        results: list[Any] = []
        try:
            for step, action in zip(self._step_functions, actions, strict=True):
                results.append(step(action))
        except Exception as error:
            raise self._failed(len(results), "failed in `step`", error) from error
        columns = list(zip(*results, strict=True))
        if len(columns) != 5:
            raise EnvironmentFailedError(
                f"environment {self._first_env} ({self._name}) returned {len(columns)} values from `step`, but "
                "Gymnasium's API has 5: observation, reward, terminated, truncated, info"
            )
        return columns

    def _end_episodes(
        self,
        observations: list[Any],
        infos: list[Mapping[str, Any]],
        terminated: Sequence[bool],
        truncated: Sequence[bool],
    ) -> TerminalSteps:
        """Take the final observations of the episodes that ended, and put the first ones of the next in their place."""
        ended = [
            number
            for number, deadline in enumerate(self._deadlines)
            if terminated[number] or truncated[number] or self._tick >= deadline
        ]
        final = self._observations.empty(len(ended))
        self._observations.write_rows([observations[number] for number in ended], final)
        terminal = TerminalSteps(
            self._agent_id[ended],
            final,
            self._reward[ended],
            # An end that is both the task's and the limit's is the task's.
            np.array([not terminated[number] for number in ended]),
        )
        self._reward[ended] = 0.0
        for number in ended:
            observations[number], infos[number] = self._reset_one(number, None)
        return terminal

    def _reset_one(self, number: int, seed: int | None) -> tuple[Any, Mapping[str, Any]]:
        """Start a new episode in one instance, with a new generator where there is a seed."""
        env = self._envs[number]
        self._deadlines[number] = self._tick + self._step_limit
        try:
            if seed is None:
                observation, info = env.reset(options=self._options)
            else:
                own_seed = self._seed(seed, number)
                env.action_space.seed(own_seed)
                env.observation_space.seed(own_seed)
                observation, info = env.reset(seed=own_seed, options=self._options)
        except Exception as error:
            raise self._failed(number, "failed in `reset`", error) from error
        return observation, info

    def _find_mask_functions(self, envs: Sequence[Env]) -> Sequence[Callable[[], Any]] | None:
        if self._masks is None or self._observations.has_mask or not envs[0].has_wrapper_attr("action_masks"):
            return None
        return [env.get_wrapper_attr("action_masks") for env in envs]

    def _read_masks(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> Masks | None:
        """Masks of all agents, from wherever the environment gives them; None = everything is allowed."""
        if self._masks is None:
            return None
        if self._observations.has_mask:
            masks = [observation[MASK_KEY] for observation in observations]
        elif self._mask_functions is not None:
            masks = [mask() for mask in self._mask_functions]
        else:
            masks = [info[MASK_KEY] for info in infos if MASK_KEY in info]
            if not masks:
                return None
            if len(masks) < len(infos):
                masks = [info.get(MASK_KEY) for info in infos]
        return self._masks.read_rows(masks)
