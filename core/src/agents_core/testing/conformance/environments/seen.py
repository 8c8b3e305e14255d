"""Environment steps as they were when they were returned, to be compared later."""

from __future__ import annotations

from agents_core.columns import Array
from agents_core.contracts.environment import DecisionSteps, EnvironmentSteps, TerminalSteps

Seen = dict[str, bytes]


def seen(steps: EnvironmentSteps) -> Seen:
    """The bytes of every array, by a name for messages."""
    found: Seen = {}
    for name, behavior in sorted(steps.behaviors.items()):
        parts: list[tuple[str, DecisionSteps | TerminalSteps]] = [
            ("decision", behavior.decision),
            ("terminal", behavior.terminal),
        ]
        for title, part in parts:
            found |= {f"{name}: {title}.{field}": content for field, content in _arrays(part).items()}
    return found


def _arrays(part: DecisionSteps | TerminalSteps) -> Seen:
    arrays: dict[str, Array] = {"agent_id": part.agent_id, "reward": part.reward}
    arrays |= {f"observations[{place}]": array for place, array in enumerate(part.observations)}
    if isinstance(part, TerminalSteps):
        arrays["truncated"] = part.truncated
    elif part.action_mask is not None:
        arrays["action_mask"] = part.action_mask
    return {name: array.tobytes() for name, array in arrays.items()}


def rows(steps: EnvironmentSteps) -> dict[str, list[bytes]]:
    """What each agent that needs a decision sees, by behavior."""
    return {
        name: [
            b"".join(observation[row].tobytes() for observation in behavior.decision.observations)
            for row in range(len(behavior.decision))
        ]
        for name, behavior in steps.behaviors.items()
    }


def first_difference(first: list[Seen], second: list[Seen]) -> str | None:
    """The first array in which two histories differ."""
    for step, (one, other) in enumerate(zip(first, second, strict=True)):
        for name in {**one, **other}:
            if one.get(name) != other.get(name):
                return f"{name} differs at step {step}"
    return None
