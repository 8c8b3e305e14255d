"""Bringing a demonstration to the spec of the policy that is to learn from it."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from agents_core.columns import Array, Columns
from agents_core.contracts.demonstration import Demonstration, DemonstrationError
from agents_core.demonstrations.describing import describe_spec
from agents_core.spec import BehaviorSpec, ObservationSpec
from agents_core.trajectory import Trajectories

_log = logging.getLogger(__name__)


def fitted(demonstration: Demonstration, spec: BehaviorSpec, source: str) -> Demonstration:
    """The demonstration with observations in the order and names of `spec`.

    Observations are matched by name where both sides have the same names, else by their place. Their kinds and whether
    actions are bounded are taken from `spec`; actions outside of [-1, 1] are clipped where it says bounded, as the
    environment would have done.

    Raises:
        DemonstrationError: Number, shapes or types of the observations, or the actions, differ; both specs are shown.
    """
    order = _order(demonstration.spec, spec)
    if order is None:
        raise DemonstrationError(
            f"{source}: it was recorded with another behavior spec\n"
            f"  demonstration: {describe_spec(demonstration.spec)}\n"
            f"  expected:      {describe_spec(spec)}"
        )
    if demonstration.spec == spec:
        return demonstration
    episodes = demonstration.episodes
    fields = {name: array for name, array in episodes.columns.fields.items() if not name.startswith("obs.")}
    for i, own in enumerate(order):
        fields[f"obs.{i}"] = _cast(episodes.columns[f"obs.{own}"], spec.observations[i])
    if spec.action.bounded:
        fields["action.continuous"] = _clipped(fields["action.continuous"], source)
    finals = tuple(_cast(episodes.final_observations[own], spec.observations[i]) for i, own in enumerate(order))
    return replace(demonstration, spec=spec, episodes=Trajectories(Columns(fields), episodes.lengths, finals))


def _order(found: BehaviorSpec, expected: BehaviorSpec) -> list[int] | None:
    """For each expected observation the place of the demonstration's; None where the specs do not fit."""
    if (found.action.continuous_size, found.action.discrete_branches) != (
        expected.action.continuous_size,
        expected.action.discrete_branches,
    ):
        return None
    names = [observation.name for observation in found.observations]
    wanted = [observation.name for observation in expected.observations]
    order = [names.index(name) for name in wanted] if set(names) == set(wanted) else list(range(len(names)))
    if len(order) != len(wanted):
        return None
    pairs = zip(order, expected.observations, strict=True)
    return order if all(_fits(found.observations[own], observation) for own, observation in pairs) else None


def _fits(found: ObservationSpec, expected: ObservationSpec) -> bool:
    """Same shape; same type, or floats of another width: 255 shades and fractions of 1 are not the same image."""
    both_float = found.numpy_dtype.kind == expected.numpy_dtype.kind == "f"
    return found.shape == expected.shape and (both_float or found.dtype == expected.dtype)


def _cast(array: Array, observation: ObservationSpec) -> Array:
    return array.astype(observation.numpy_dtype, copy=False)


def _clipped(actions: Array, source: str) -> Array:
    outside = (np.abs(actions) > 1).any(axis=1)
    if not outside.any():
        return actions
    _log.warning("%s: %d of %d actions lie outside of [-1, 1] and are clipped", source, outside.sum(), len(actions))
    return np.clip(actions, -1, 1)
