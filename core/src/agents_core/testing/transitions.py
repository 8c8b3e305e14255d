"""Behaviors of every kind, and made-up experience of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import torch

from agents_core.columns import Array, Batch, Columns
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec

Bools = npt.NDArray[np.bool_]

_VECTOR = ObservationSpec("numbers", (3,))
_IMAGE = ObservationSpec("camera", (24, 24, 3), "uint8", "image")
_OBSERVATIONS = {
    "a vector": (_VECTOR,),
    "an image": (_IMAGE,),
    "several observations": (
        _VECTOR,
        _IMAGE,
        ObservationSpec("more numbers", (2,), "float64"),
        ObservationSpec("board", (5, 5, 2), "bool", "image"),
        ObservationSpec("others", (4, 3), "float32", "entities"),
        ObservationSpec("aim", (2,), "float32", "goal"),
    ),
}
_ACTIONS = {
    "discrete": ActionSpec(discrete_branches=(3,)),
    "continuous": ActionSpec(continuous_size=2),
    "multi-discrete": ActionSpec(discrete_branches=(2, 3)),
    "hybrid": ActionSpec(continuous_size=2, discrete_branches=(3,)),
}

BEHAVIORS = {
    f"{seen}, {acted} actions": BehaviorSpec(observations, action)
    for (seen, observations), (acted, action) in product(_OBSERVATIONS.items(), _ACTIONS.items())
}
"""Every combination of what components should work with, or refuse with a `UserError`."""

_KEPT = ("obs.", "next_obs.", "action.continuous", "action.discrete", "action_mask", "reward", "group_reward")
"""How the names of columns start that a reward signal is given at all times, besides how the episode ended."""


def make_transitions(spec: BehaviorSpec, *, agents: int = 4, steps: int = 16, seed: int = 0) -> Columns:
    """Rows of `agents` agents, one agent's after another's, each in the order of time.

    Every observation is random; episodes end by termination and by truncation, and go on over the last row.
    """
    generator = np.random.default_rng([seed, agents, steps])
    rows = agents * steps
    ended = generator.random((agents, steps)) < 0.2
    cut = ended & (generator.random((agents, steps)) < 0.5)
    fields: dict[str, Array] = {}
    for index, observation in enumerate(spec.observations):
        seen = _observations(observation, agents * (steps + 1), generator)
        seen = seen.reshape(agents, steps + 1, *observation.shape)
        after = seen[:, 1:].copy()
        after[ended] = _observations(observation, int(ended.sum()), generator)
        fields[f"obs.{index}"] = seen[:, :-1].reshape(rows, *observation.shape).copy()
        fields[f"next_obs.{index}"] = after.reshape(rows, *observation.shape)
    fields |= _actions(spec.action, ended, generator)
    starts = np.cumsum(np.pad(ended, ((0, 0), (1, 0)))[:, :-1], axis=1)
    return Columns(
        {
            **fields,
            "reward": generator.normal(size=rows).astype(np.float32),
            "terminated": (ended & ~cut).reshape(rows),
            "truncated": cut.reshape(rows),
            "agent_id": np.repeat(np.arange(agents), steps),
            "episode_id": (starts + (steps + 1) * np.arange(agents)[:, None]).reshape(rows),
            "tick": np.tile(np.arange(steps), agents),
        }
    )


def _observations(observation: ObservationSpec, rows: int, generator: np.random.Generator) -> Array:
    dtype, shape = observation.numpy_dtype, (rows, *observation.shape)
    if dtype.kind == "b":
        return generator.random(shape) < 0.5
    if dtype.kind in "iu":
        return generator.integers(0, 256 if observation.kind == "image" else 5, shape).astype(dtype)
    drawn = generator.random(shape) if observation.kind == "image" else generator.normal(size=shape)
    return drawn.astype(dtype)


def _actions(action: ActionSpec, ended: Bools, generator: np.random.Generator) -> dict[str, Array]:
    rows = ended.size
    raw = generator.normal(size=(rows, action.continuous_size)).astype(np.float32)
    discrete = generator.integers(0, action.discrete_branches or (1,), (rows, max(1, len(action.discrete_branches))))
    discrete = discrete[:, : len(action.discrete_branches)]
    fields: dict[str, Array] = {
        "action.continuous": np.clip(raw, -1, 1) if action.bounded else raw.copy(),
        "action.raw": raw,
        "action.discrete": discrete.astype(np.int64),
    }
    if action.discrete_branches:
        mask = generator.random((rows, action.mask_size)) < 0.7
        first = np.cumsum((0, *action.discrete_branches))[:-1]
        mask[np.arange(rows)[:, None], first + discrete] = True
        after = np.ones((*ended.shape, action.mask_size), np.bool_)
        after[:, :-1] = mask.reshape(after.shape)[:, 1:]
        after[ended] = True
        fields |= {"action_mask": mask, "next_action_mask": after.reshape(mask.shape)}
    return fields


def make_batch(spec: BehaviorSpec, rows: int = 32, *, seed: int = 0, **columns: npt.ArrayLike | torch.Tensor) -> Batch:
    """Rows of one agent in the order of time, with random observations, actions, rewards and ends.

    Args:
        spec: What is seen and done.
        rows: How many.
        seed: Of what is drawn.
        columns: What stands in place of what is drawn, by name: `make_batch(spec, terminated=ends)`.
    """
    drawn = to_batch(make_transitions(spec, agents=1, steps=rows, seed=seed))
    given = {name: torch.as_tensor(column) for name, column in columns.items()}
    return Batch({name: drawn[name] for name in drawn} | given, rows)


def to_batch(columns: Columns, device: torch.device | str = "cpu") -> Batch:
    """The columns as tensors of their own."""
    fields = {name: torch.from_numpy(np.array(array)).to(device) for name, array in columns.fields.items()}
    return Batch(fields, len(columns))


def as_given_to_signals(batch: Batch, *, observed: bool = False) -> Batch:
    """The batch with what the contract of reward signals promises and nothing else.

    Args:
        batch: Transitions.
        observed: As `observe` gets it, with the ids of agents and episodes.
    """
    kept = ("terminated", "truncated", *(("agent_id", "episode_id") if observed else ()))
    return Batch({name: batch[name] for name in batch if name.startswith(_KEPT) or name in kept}, len(batch))
