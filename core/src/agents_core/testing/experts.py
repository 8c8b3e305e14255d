"""Demonstrations of what a hand-written expert does in a toy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from agents_core.contracts.demonstration import Demonstration
from agents_core.contracts.environment import Actions, DecisionSteps
from agents_core.demonstrations.recording import EpisodeRecorder
from agents_core.testing.column_environment import ColumnEnvironment

Floats = npt.NDArray[np.float32]
Int64s = npt.NDArray[np.int64]


def demonstrate(
    environment: ColumnEnvironment, expert: Callable[[DecisionSteps], Actions], episodes: int, seed: int = 0
) -> Demonstration:
    """The first episodes that an expert acts in a toy.

    Args:
        environment: It is reset.
        expert: Chooses the actions of all agents.
        episodes: How many to record.
        seed: Of the environment.
    """
    ((behavior, spec),) = environment.behavior_specs.items()
    recorder = EpisodeRecorder(spec)
    decision = environment.reset(seed).behaviors[behavior].decision
    number = _numbered(np.arange(environment.agents), episodes)
    begun, ended = environment.agents, 0
    while ended < episodes:
        actions = expert(decision)
        recorder.act(number[decision.agent_id], decision, actions)
        steps = environment.step({behavior: actions}).behaviors[behavior]
        over, decision = steps.terminal.agent_id, steps.decision
        goes_on = number.copy()
        goes_on[over] = -1
        recorder.reward(goes_on[decision.agent_id], decision)
        counted = np.flatnonzero(number[over] >= 0)
        recorder.end(number[over][counted], steps.terminal, counted)
        ended += len(counted)
        number[over] = _numbered(np.arange(begun, begun + len(over)), episodes)
        begun += len(over)
    return recorder.demonstration(behavior)


def chosen(
    environment: ColumnEnvironment, discrete: npt.ArrayLike | None = None, continuous: npt.ArrayLike | None = None
) -> Actions:
    """Actions of all agents of a toy.

    Args:
        environment: Whose agents act.
        discrete: [agents, branches], or None where there are none.
        continuous: [agents, continuous], or None where there are none.
    """
    rows = environment.agents
    return Actions(
        np.zeros((rows, 0), np.float32) if continuous is None else np.asarray(continuous, np.float32).reshape(rows, -1),
        np.zeros((rows, 0), np.int64) if discrete is None else np.asarray(discrete, np.int64).reshape(rows, -1),
    )


def _numbered(numbers: Int64s, episodes: int) -> Int64s:
    """Numbers of episodes, -1 for those that are not recorded."""
    return np.where(numbers < episodes, numbers, -1)
