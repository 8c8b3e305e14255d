"""Replay buffers as SAC of ML-Agents 1.1.0 saves them, and reading them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from agents_core.columns import Array
from agents_core.demonstrations import Demonstration, read_demonstrations
from agents_core.spec import ObservationSpec


def save(path: Path, fields: Mapping[str, object]) -> Path:
    """Write a dataset of compressed floats for each field."""
    with h5py.File(path, "w") as file:
        for name, values in fields.items():
            file.create_dataset(name, data=values, dtype="f", compression="gzip")
    return path


def fields_of(demonstration: Demonstration, *, sequence_length: int = 1) -> dict[str, Array]:
    """What ML-Agents holds of these episodes, each of them padded to whole sequences."""
    episodes, spec = demonstration.episodes, demonstration.spec
    columns, rows = episodes.columns, len(episodes)
    after = episodes.next_observations()
    fields: dict[str, Array] = {}
    for i, seen in enumerate(spec.observations):
        fields[f"obs:{i}"] = _stored(seen, columns[f"obs.{i}"])
        fields[f"next_obs:{i}"] = _stored(seen, after[i])
    forbidding = np.ones((rows, spec.action.mask_size), np.float32)
    fields |= {
        "group_continuous_action": np.empty((rows, 0), np.float32),
        "continuous_action": columns["action.continuous"],
        "discrete_action": columns["action.discrete"],
        "continuous_log_probs": np.full((rows, spec.action.continuous_size), np.nan),
        "action_mask": columns.fields.get("action_mask", forbidding),
        "prev_action": np.zeros((rows, len(spec.action.discrete_branches))),
        "done": columns["terminated"],
        "environment_rewards": columns["reward"],
        "group_reward": columns.fields.get("group_reward", np.zeros(rows)),
        "masks": np.ones(rows),
    }
    return {name: padded(array, episodes.lengths, sequence_length, name) for name, array in fields.items()}


def padded(array: Array, lengths: Sequence[int] | Array, sequence_length: int, name: str) -> Array:
    """Each piece to whole sequences: with zeros, and ones where they are action masks."""
    pieces = []
    for piece in np.split(np.asarray(array, np.float32), np.cumsum(lengths)[:-1]):
        missing = -len(piece) % sequence_length
        pieces.append(np.concatenate([piece, np.repeat(piece[-1:] * (name == "action_mask"), missing, axis=0)]))
    return np.concatenate(pieces)


def _stored(spec: ObservationSpec, array: Array) -> Array:
    """Floats; images with their channels first, fractions of 1 where they are bytes."""
    floats = array.astype(np.float32) / np.float32(255 if spec.dtype == "uint8" else 1)
    return np.moveaxis(floats, -1, 1) if spec.kind == "image" else floats


def steps(**fields: Any) -> dict[str, Any]:
    """Four steps of an agent that sees a number and moves, terminated after the fourth."""
    return {
        "obs:0": [[0], [1], [2], [3]],
        "next_obs:0": [[1], [2], [3], [4]],
        "continuous_action": [[0.1], [0.2], [0.3], [0.4]],
        "done": [0, 0, 0, 1],
        "environment_rewards": [1, 2, 4, 8],
        "masks": [1, 1, 1, 1],
        **{name.replace("__", ":"): values for name, values in fields.items()},
    }


def read(folder: Path, fields: dict[str, Any], **options: object) -> Demonstration:
    return read_demonstrations(save(folder / "last_replay_buffer.hdf5", fields), options=options)
