"""Demonstrations and behavior specs for people: what they see and do, and what it gave."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents_core.contracts.demonstration import Demonstration
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec


def describe_spec(spec: BehaviorSpec) -> str:
    """`observation float32[4]; 2 continuous actions, branches (3, 2)`."""
    seen = ", ".join(describe_observation(observation) for observation in spec.observations)
    return f"{seen}; {describe_action(spec.action)}"


def describe_observation(observation: ObservationSpec) -> str:
    """`camera uint8[84, 84, 3] (image)`."""
    kind = "" if observation.kind == "vector" else f" ({observation.kind})"
    return f"{observation.name} {observation.dtype}{list(observation.shape)}{kind}"


def describe_action(action: ActionSpec) -> str:
    """`2 continuous actions, branches (3, 2)`."""
    parts = []
    if action.continuous_size:
        parts.append(f"{action.continuous_size} continuous action{'s' if action.continuous_size > 1 else ''}")
    if action.discrete_branches:
        parts.append(f"branches ({', '.join(map(str, action.discrete_branches))})")
    return ", ".join(parts)


def episode_returns(demonstration: Demonstration) -> npt.NDArray[np.float64]:
    """float64[episodes], sum of rewards of each, group rewards included."""
    columns = demonstration.episodes.columns
    reward = columns["reward"].astype(np.float64)
    if "group_reward" in columns:
        reward += columns["group_reward"]
    starts = np.cumsum(demonstration.episodes.lengths) - demonstration.episodes.lengths
    return np.add.reduceat(reward, starts)
