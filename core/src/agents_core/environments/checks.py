"""Checks of what environments return, so that a mistake is named where it is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from agents_core.columns import Array
from agents_core.contracts.environment import BehaviorSteps, DecisionSteps, TerminalSteps
from agents_core.errors import EnvironmentFailedError
from agents_core.spec import BehaviorSpec


class StructureChecker:
    """Refuses arrays of another shape or dtype than the contract and a behavior's spec say.

    The first steps are looked at closely; in later ones, only what differs most easily.

    Args:
        name: The behavior.
        spec: Its spec.
        where: The environment, for the message.
    """

    def __init__(self, name: str, spec: BehaviorSpec, where: str) -> None:
        self._name = name
        self._spec = spec
        self._where = where
        self._known: set[type] = set()
        self._rows = tuple((observation.numpy_dtype, observation.shape) for observation in spec.observations)

    def check(self, steps: BehaviorSteps) -> None:
        """Check the part of the steps that holds agents.

        Raises:
            EnvironmentFailedError: Names the first array that does not fit.
        """
        for part in (steps.decision, steps.terminal):
            if len(part.agent_id) and not (type(part) in self._known and self._looks_right(part)):
                self._check_closely(part)
                self._known.add(type(part))

    def _looks_right(self, steps: DecisionSteps | TerminalSteps) -> bool:
        rows = len(steps.agent_id)
        if len(steps.observations) != len(self._rows) or steps.reward.shape != (rows,):
            return False
        return all(
            array.dtype == dtype and array.shape == (rows, *shape)
            for array, (dtype, shape) in zip(steps.observations, self._rows, strict=True)
        )

    def _check_closely(self, steps: DecisionSteps | TerminalSteps) -> None:
        spec, rows = self._spec, len(steps.agent_id)
        prefix = f"{self._where}, behavior '{self._name}': {_part_name(steps)}"
        if len(steps.observations) != len(spec.observations):
            raise EnvironmentFailedError(
                f"{prefix} steps hold {len(steps.observations)} observations, but the behavior's spec names "
                f"{len(spec.observations)}: {', '.join(observation.name for observation in spec.observations)}"
            )
        for field, array, dtype, shape in _fields(steps, spec):
            expected = f"expected a NumPy array {_describe(np.dtype(dtype), (rows, *shape))}"
            if not isinstance(array, np.ndarray):
                raise EnvironmentFailedError(f"{prefix}.{field} is a {type(array).__name__}; {expected}")
            if array.dtype != np.dtype(dtype) or array.shape != (rows, *shape):
                raise EnvironmentFailedError(f"{prefix}.{field} is {_describe(array.dtype, array.shape)}; {expected}")


def _part_name(steps: DecisionSteps | TerminalSteps) -> str:
    return "decision" if isinstance(steps, DecisionSteps) else "terminal"


def _fields(
    steps: DecisionSteps | TerminalSteps, spec: BehaviorSpec
) -> Iterator[tuple[str, object, str, tuple[int, ...]]]:
    """(field, array, expected dtype, expected shape of a row) of every array that is there."""
    yield "agent_id", steps.agent_id, "int64", ()
    for index, observation in enumerate(spec.observations):
        field = f"observations[{index}] ('{observation.name}')"
        yield field, steps.observations[index], observation.dtype, observation.shape
    yield "reward", steps.reward, "float32", ()
    if isinstance(steps, TerminalSteps):
        yield "truncated", steps.truncated, "bool", ()
    elif steps.action_mask is not None:
        yield "action_mask", steps.action_mask, "bool", (spec.action.mask_size,)
    if steps.group_id is not None:
        yield "group_id", steps.group_id, "int64", ()
    if steps.group_reward is not None:
        yield "group_reward", steps.group_reward, "float32", ()


def _describe(dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> str:
    return f"{dtype.name}[{', '.join(map(str, shape))}]"


def add_specs(known: dict[str, BehaviorSpec], new: Mapping[str, BehaviorSpec], where: str) -> None:
    """Add the specs that an environment names.

    Raises:
        EnvironmentFailedError: It gives a behavior another spec than others did.
    """
    for name, spec in new.items():
        if known.setdefault(name, spec) != spec:
            raise EnvironmentFailedError(
                f"{where}, behavior '{name}': its spec is {spec}, but other environments of the run say {known[name]}"
            )


def check_unique(agent_id: Array, name: str, where: str) -> None:
    """Refuse decision steps in which an agent stands twice.

    Raises:
        EnvironmentFailedError: Names an agent that does.
    """
    values, counts = np.unique(agent_id, return_counts=True)
    if len(values) < len(agent_id):
        raise EnvironmentFailedError(
            f"{where}, behavior '{name}': agent {values[counts > 1][0]} stands more than once in the decision steps; "
            "the agent_id of living agents must differ"
        )


def is_finite(steps: BehaviorSteps) -> bool:
    """Whether all observations and rewards are finite numbers."""
    return _all_finite(steps.decision) and (not len(steps.terminal.agent_id) or _all_finite(steps.terminal))


def _all_finite(steps: DecisionSteps | TerminalSteps) -> bool:
    for array in steps.observations:
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            return False
    if not np.isfinite(steps.reward).all():
        return False
    return steps.group_reward is None or bool(np.isfinite(steps.group_reward).all())


def refuse_non_finite(name: str, steps: BehaviorSteps, spec: BehaviorSpec, where: str) -> None:
    """Name the first number that is not finite, if there is one.

    Raises:
        EnvironmentFailedError: Names environment, behavior, agent and array.
    """
    parts: list[tuple[str, DecisionSteps | TerminalSteps]] = [("", steps.decision), ("final ", steps.terminal)]
    for final, part in parts:
        for field, array in _numbers(part, spec):
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                place = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
                at = f" at {place[1:]}" if place[1:] else ""
                raise EnvironmentFailedError(
                    f"{where}, behavior '{name}', agent {part.agent_id[place[0]]}: {final}{field} is "
                    f"{array[place]}{at}; observations and rewards must be finite numbers"
                )


def _numbers(steps: DecisionSteps | TerminalSteps, spec: BehaviorSpec) -> Iterator[tuple[str, Array]]:
    for observation, array in zip(spec.observations, steps.observations, strict=True):
        yield f"observation '{observation.name}'", array
    yield "reward", steps.reward
    if steps.group_reward is not None:
        yield "group reward", steps.group_reward
