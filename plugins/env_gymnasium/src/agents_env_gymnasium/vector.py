"""A vectorised environment of an environment's own, in all three ways of starting the next episode.

| autoreset mode | when an episode ends at a step |
| --- | --- |
| `NEXT_STEP` | the agent is missing until the next step, whose row is the first of its new episode |
| `SAME_STEP` | the row is the first of the new episode already; `info["final_obs"]` holds the last of the old one |
| `DISABLED` | the ended instances are reset here, by `options={"reset_mask": ...}` |

With `NEXT_STEP` the action that is due for a reset is ignored by the environment and reaches no learner: the agent
makes no decision there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from agents_core.columns import Array
from agents_core.contracts.environment import Actions, EnvironmentContext, EnvironmentSteps, TerminalSteps
from agents_core.errors import EnvironmentFailedError, UserError
from gymnasium.vector import AutoresetMode, VectorEnv

from agents_env_gymnasium.config import GymnasiumConfig
from agents_env_gymnasium.environment import BEHAVIOR, GymnasiumEnvironment
from agents_env_gymnasium.hidden_state import stateful_wrappers
from agents_env_gymnasium.masks import Masks
from agents_env_gymnasium.observations import MASK_KEY
from agents_env_gymnasium.quick_contains import quicken
from agents_env_gymnasium.stats import merge

Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


class VectorEnvironment(GymnasiumEnvironment):
    """Hosts one vector environment; its instances share a generator."""

    def __init__(self, context: EnvironmentContext[GymnasiumConfig], env: VectorEnv[Any, Any, Any]) -> None:
        """Take over a vector environment.

        Raises:
            UserError: A space cannot be learned from, the number of instances is another than asked for, or the
                environment does not say how it starts new episodes.
        """
        super().__init__(context, env.single_observation_space, env.single_action_space)
        if env.num_envs != self._count:
            raise UserError(
                f"environment.num_envs: '{self._name}' was asked for {self._count} instances, but made {env.num_envs}"
            )
        quicken(env.unwrapped.action_space)
        self.hidden_state = stateful_wrappers(env)
        self._env = env
        self._mode = _autoreset_mode(env, self._name)
        self._pending = np.zeros(self._count, np.bool_)
        """Instances that the next step resets; `NEXT_STEP` only."""
        self._closed = False
        self._mask_function = getattr(env, "action_masks", None)

    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        self._set_options(parameters)
        try:
            if seed is None:
                observation, info = self._env.reset(options=self._options)
            else:
                own_seed = self._seed(seed, 0)
                for space in (self._env.action_space, self._env.observation_space):
                    space.seed(own_seed)
                observation, info = self._env.reset(seed=own_seed, options=self._options)
        except Exception as error:
            raise self._failed(0, "failed in `reset`", error) from error
        self._pending[:] = False
        reward = np.zeros(self._count, np.float32)
        columns = self._observations.from_batch(observation)
        return self._step_of(
            self._agent_id, columns, reward, self._read_masks(observation, info), self._no_terminal, {}
        )

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        steps = self._advance(actions[BEHAVIOR])
        if len(steps.behaviors[BEHAVIOR].decision):
            return steps
        # Every instance waits for its reset, so that no agent needs a decision: go on until one does.
        following = self._advance(self._no_actions(0))
        following.behaviors[BEHAVIOR].terminal = steps.behaviors[BEHAVIOR].terminal
        following.stats = merge(steps.stats, following.stats)
        return following

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._env.close()

    def _advance(self, actions: Actions) -> EnvironmentSteps:
        """One step of the vector environment."""
        waiting = np.count_nonzero(self._pending)
        batch = self._actions.batch(self._spread(actions) if waiting else actions)
        try:
            observation, reward, terminated, truncated, info = self._env.step(batch)
        except Exception as error:
            raise self._failed(0, "failed in `step`", error) from error
        columns = self._observations.from_batch(observation)
        reward = np.asarray(reward, np.float32)
        ended = np.logical_or(terminated, truncated)
        stats = self._read_stats(info, ended)
        masks = self._read_masks(observation, info)
        if not waiting and not np.count_nonzero(ended):
            return self._step_of(self._agent_id, columns, reward, masks, self._no_terminal, stats)
        rows = np.flatnonzero(ended & ~self._pending)
        final = self._final_observations(columns, info, rows)
        # An end that is both the task's and the limit's is the task's.
        cut_off = ~np.asarray(terminated, np.bool_)[rows]
        terminal = TerminalSteps(self._agent_id[rows], final, reward[rows], cut_off)
        reward = np.where(ended | self._pending, np.float32(0.0), reward)
        if self._mode is AutoresetMode.NEXT_STEP:
            self._pending = ended
            if np.count_nonzero(ended):
                present = ~ended
                columns, reward = tuple(column[present] for column in columns), reward[present]
                masks = None if masks is None else masks[present]
                return self._step_of(self._agent_id[present], columns, reward, masks, terminal, stats)
        elif self._mode is AutoresetMode.DISABLED:
            columns, masks = self._reset_rows(ended, masks)
        return self._step_of(self._agent_id, columns, reward, masks, terminal, stats)

    def _final_observations(self, columns: tuple[Array, ...], info: Mapping[str, Any], rows: Rows) -> tuple[Array, ...]:
        """The last observations of the episodes that ended in `rows`."""
        if self._mode is not AutoresetMode.SAME_STEP or not len(rows):
            return tuple(column[rows] for column in columns)
        if "final_obs" not in info:
            raise EnvironmentFailedError(
                f"'{self._name}' ended an episode in autoreset mode SAME_STEP without info['final_obs']; "
                "the final observation must stand there"
            )
        final = info["final_obs"]
        if isinstance(final, np.ndarray) and final.dtype == object:
            columns = self._observations.empty(len(rows))
            self._observations.write_rows([final[row] for row in rows], columns)
            return columns
        return tuple(column[rows] for column in self._observations.from_batch(final))

    def _reset_rows(self, rows: Flags, masks: Masks | None) -> tuple[tuple[Array, ...], Masks | None]:
        """Start new episodes in some instances; observations and masks of all of them."""
        try:
            observation, info = self._env.reset(options={**(self._options or {}), "reset_mask": rows.copy()})
        except Exception as error:
            raise self._failed(int(np.argmax(rows)), "failed in `reset` with a `reset_mask`", error) from error
        new = self._read_masks(observation, info)
        if masks is not None or new is not None:
            size = self._actions.spec.mask_size
            merged = np.ones((self._count, size), np.bool_) if masks is None else masks.copy()
            merged[rows] = True if new is None else new[rows]
            masks = merged
        return self._observations.from_batch(observation), masks

    def _read_stats(self, info: Mapping[str, Any], ended: Flags) -> dict[str, list[float]]:
        """Numbers of the instances that took a step; the others were only reset."""
        if not self._stats:
            return {}
        if self._mode is not AutoresetMode.SAME_STEP:
            return self._stats.read_batch(info, np.flatnonzero(~self._pending).tolist())
        # The info of a row that ended belongs to its new episode already.
        going_on = self._stats.read_batch(info, np.flatnonzero(~ended).tolist())
        return merge(going_on, self._stats.read_batch(info.get("final_info", {}), np.flatnonzero(ended).tolist()))

    def _read_masks(self, observation: Any, info: Mapping[str, Any]) -> Masks | None:
        """Masks of all instances, from wherever the environment gives them; None = everything is allowed."""
        if self._masks is None:
            return None
        if self._observations.has_mask:
            return self._masks.read_batch(observation[MASK_KEY], self._count)
        if self._mask_function is not None:
            # A tuple holds one mask for each instance here, as `VectorEnv.call` gives it.
            masks = self._mask_function()
            return self._masks.read_batch(list(masks) if isinstance(masks, tuple) else masks, self._count)
        if info.get(MASK_KEY) is None:
            return None
        masks = self._masks.read_batch(info[MASK_KEY], self._count)
        # `_key` says which instances have the key.
        return masks | ~np.asarray(info.get(f"_{MASK_KEY}", True), np.bool_).reshape(-1, 1)

    def _spread(self, actions: Actions) -> Actions:
        """Actions of all instances; those that are about to be reset ignore theirs."""
        every = self._no_actions(self._count)
        present = ~self._pending
        every.continuous[present] = actions.continuous
        every.discrete[present] = actions.discrete
        return every

    def _no_actions(self, count: int) -> Actions:
        spec = self._actions.spec
        return Actions(
            np.zeros((count, spec.continuous_size), np.float32),
            np.zeros((count, len(spec.discrete_branches)), np.int64),
        )


def _autoreset_mode(env: VectorEnv[Any, Any, Any], name: str) -> AutoresetMode:
    mode = env.metadata.get("autoreset_mode")
    try:
        return AutoresetMode(mode)
    except ValueError as error:
        allowed = ", ".join(f"AutoresetMode.{known.name}" for known in AutoresetMode)
        raise UserError(
            f"environment: the vector environment of '{name}' must say how it starts new episodes: "
            f"metadata['autoreset_mode'] is {mode!r}, allowed are {allowed}. "
            "Set it, or use single environments: `vectorization: sync`"
        ) from error
