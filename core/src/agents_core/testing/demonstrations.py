"""Demonstrations of random content, for tests of what reads, keeps or learns from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from agents_core.columns import Array, Columns
from agents_core.contracts.demonstration import Demonstration
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.trajectory import Trajectories

HYBRID_SPEC = BehaviorSpec(
    (ObservationSpec("position", (3,)), ObservationSpec("camera", (4, 5, 3), "uint8", "image")),
    ActionSpec(2, (3, 2)),
)


def random_demonstration(
    spec: BehaviorSpec = HYBRID_SPEC,
    lengths: Sequence[int] = (3, 1, 2),
    *,
    seed: int = 0,
    masked: bool = False,
    behavior: str = "random",
) -> Demonstration:
    """Episodes of the given lengths; the first is truncated, the others terminate.

    Args:
        spec: What is seen and done.
        lengths: Transitions of each episode.
        seed: Of all numbers.
        masked: Forbid some choices, never the chosen ones.
        behavior: Its name.
    """
    generator = np.random.default_rng(seed)
    rows = sum(lengths)
    ends = np.cumsum(lengths) - 1
    truncated = np.zeros(rows, np.bool_)
    truncated[ends[:1]] = True
    terminated = np.zeros(rows, np.bool_)
    terminated[ends[1:]] = True
    branches = spec.action.discrete_branches
    discrete = np.zeros((rows, len(branches)), np.int64)
    for branch, choices in enumerate(branches):
        discrete[:, branch] = generator.integers(choices, size=rows)
    fields: dict[str, Array] = {
        "action.continuous": generator.uniform(-1, 1, (rows, spec.action.continuous_size)).astype(np.float32),
        "action.discrete": discrete,
        "reward": generator.normal(size=rows).astype(np.float32),
        "terminated": terminated,
        "truncated": truncated,
        "agent_id": np.repeat(np.arange(len(lengths)) + 7, lengths),
        "episode_id": np.repeat(np.arange(len(lengths)), lengths),
    }
    fields.update({f"obs.{i}": _observations(seen, rows, generator) for i, seen in enumerate(spec.observations)})
    if masked:
        fields["action_mask"] = _mask(spec.action, discrete, generator)
    finals = tuple(_observations(seen, len(lengths), generator) for seen in spec.observations)
    return Demonstration(spec, Trajectories(Columns(fields), np.array(lengths, np.int64), finals), behavior)


def with_columns(demonstration: Demonstration, columns: Mapping[str, Array]) -> Demonstration:
    """The demonstration with other columns in place of, or beside, its own."""
    episodes = demonstration.episodes
    fields = {**episodes.columns.fields, **columns}
    return replace(demonstration, episodes=replace(episodes, columns=Columns(fields)))


def differing_columns(first: Demonstration, second: Demonstration) -> list[str]:
    """Names of what differs between two demonstrations, bit for bit; `behavior` and origin do not count."""
    names = [] if first.spec == second.spec else ["spec"]
    one, other = _arrays(first), _arrays(second)
    names += sorted(set(one) ^ set(other))
    return names + [
        name
        for name in one
        if name in other and not (one[name].dtype == other[name].dtype and np.array_equal(one[name], other[name]))
    ]


def _arrays(demonstration: Demonstration) -> dict[str, Array]:
    episodes = demonstration.episodes
    finals = {f"final.{i}": array for i, array in enumerate(episodes.final_observations)}
    return {**episodes.columns.fields, **finals, "lengths": episodes.lengths}


def _observations(spec: ObservationSpec, rows: int, generator: np.random.Generator) -> Array:
    if spec.numpy_dtype.kind == "f":
        return generator.normal(size=(rows, *spec.shape)).astype(spec.numpy_dtype)
    high = 2 if spec.numpy_dtype.kind == "b" else 256
    return generator.integers(high, size=(rows, *spec.shape)).astype(spec.numpy_dtype)


def _mask(action: ActionSpec, chosen: Array, generator: np.random.Generator) -> Array:
    """bool[n, sum of branches], about half of the choices allowed, the chosen ones always."""
    mask = generator.random((len(chosen), action.mask_size)) < 0.5
    offsets = np.cumsum([0, *action.discrete_branches[:-1]])
    np.put_along_axis(mask, chosen + offsets, True, axis=1)
    mask[0, int(offsets[0] + (chosen[0, 0] + 1) % action.discrete_branches[0])] = False
    return mask
