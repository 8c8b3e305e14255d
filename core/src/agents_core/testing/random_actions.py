"""Random actions that every mask allows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from agents_core.contracts.environment import Actions, DecisionSteps, EnvironmentSteps
from agents_core.spec import BehaviorSpec


def random_actions(
    steps: EnvironmentSteps, specs: Mapping[str, BehaviorSpec], generator: np.random.Generator
) -> dict[str, Actions]:
    """An action for each agent that needs one, by behavior."""
    return {
        name: _draw(behavior.decision, specs[name], generator)
        for name, behavior in steps.behaviors.items()
        if len(behavior.decision)
    }


def _draw(decision: DecisionSteps, spec: BehaviorSpec, generator: np.random.Generator) -> Actions:
    rows, branches = len(decision), spec.action.discrete_branches
    mask = np.ones((rows, spec.action.mask_size), np.bool_) if decision.action_mask is None else decision.action_mask
    discrete = np.zeros((rows, len(branches)), np.int64)
    first = 0
    for place, size in enumerate(branches):
        # The largest of random numbers, of which forbidden choices have none.
        discrete[:, place] = np.argmax(generator.random((rows, size)) * mask[:, first : first + size], axis=1)
        first += size
    continuous = generator.uniform(-1, 1, (rows, spec.action.continuous_size)).astype(np.float32)
    return Actions(continuous, discrete)
