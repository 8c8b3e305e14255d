"""What both ways of hosting Gymnasium environments share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from agents_core.columns import Array
from agents_core.contracts.environment import (
    BehaviorSteps,
    DecisionSteps,
    Environment,
    EnvironmentContext,
    EnvironmentSteps,
    TerminalSteps,
)
from agents_core.environments.hosting import describe_exception
from agents_core.environments.seeding import environment_seed
from agents_core.errors import AgentsError, EnvironmentFailedError, UserError
from agents_core.spec import BehaviorSpec
from gymnasium import Space

from agents_env_gymnasium.actions import ActionLayout
from agents_env_gymnasium.config import GymnasiumConfig
from agents_env_gymnasium.masks import MaskReader, Masks
from agents_env_gymnasium.observations import MASK_KEY, ObservationLayout
from agents_env_gymnasium.stats import InfoStats

BEHAVIOR = "default"
"""Name of the one behavior that all agents share."""


class GymnasiumEnvironment(Environment):
    """Instances of one Gymnasium environment; agent i lives in the i-th of them.

    While no agent is missing, steps carry one and the same `agent_id` array.
    """

    def __init__(
        self, context: EnvironmentContext[GymnasiumConfig], observation_space: Space[Any], action_space: Space[Any]
    ) -> None:
        """Find out what agents see and do.

        Raises:
            UserError: A space cannot be learned from; the message names it.
        """
        config = context.config
        self._name = config.name
        self._first_env, self._count = context.first_env, context.num_envs
        self._observations = ObservationLayout(observation_space, config.image_layout)
        self._actions = ActionLayout(action_space)
        self._specs = {BEHAVIOR: BehaviorSpec(self._observations.specs, self._actions.spec)}
        self._masks = MaskReader(self._actions.root) if self._actions.spec.discrete_branches else None
        if self._observations.has_mask and self._masks is None:
            raise UserError(
                f"environment: the observation '{MASK_KEY}' is taken for the mask of discrete actions, but the action "
                f"space has none: {action_space}; rename the key with a wrapper of yours"
            )
        self._stats = InfoStats(config.stats)
        self._options: dict[str, Any] | None = None
        self._agent_id = np.arange(self._count, dtype=np.int64)
        self._no_terminal = TerminalSteps(
            self._agent_id[:0], self._observations.empty(0), np.zeros(0, np.float32), np.zeros(0, np.bool_)
        )

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return self._specs

    def _set_options(self, parameters: Mapping[str, float] | None) -> None:
        """Environment parameters reach Gymnasium as the `options` of every reset from now on."""
        self._options = dict(parameters) if parameters else None

    def _seed(self, seed: int, number: int) -> int:
        """The seed of the instance at `number` within this object."""
        return environment_seed(seed, self._first_env + number)

    def _failed(self, number: int, what: str, error: Exception) -> AgentsError:
        """An instance's exception, with the instance named."""
        if isinstance(error, UserError):
            return error
        message = str(error) if isinstance(error, EnvironmentFailedError) else describe_exception(error)
        return EnvironmentFailedError(f"environment {self._first_env + number} ({self._name}) {what}: {message}")

    def _step_of(
        self,
        agent_id: Array,
        observations: tuple[Array, ...],
        reward: Array,
        masks: Masks | None,
        terminal: TerminalSteps,
        stats: dict[str, list[float]],
    ) -> EnvironmentSteps:
        """Put a step together; masks are checked here."""
        if masks is not None and self._masks is not None:
            self._masks.check(masks, agent_id + self._first_env)
        decision = DecisionSteps(agent_id, observations, reward, masks)
        return EnvironmentSteps({BEHAVIOR: BehaviorSteps(decision, terminal)}, stats)
