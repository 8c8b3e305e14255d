"""Behavior specs in words, for messages that show two of them."""

from __future__ import annotations

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
