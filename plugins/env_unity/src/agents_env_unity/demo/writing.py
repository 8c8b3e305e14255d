"""Writing `.demo` files as the Unity recorder does.

An episode of n transitions becomes n + 1 records: each holds an observation, the reward since the record before and the
action chosen on the observation before, which is zero in the first record; the last is `done` and holds the final
observation. Actions are written to their own fields and to the deprecated list, for readers of any release.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from agents_core.columns import Array
from agents_core.demonstrations import Demonstration, DemonstrationError, written_aside
from agents_core.spec import ObservationSpec

from agents_env_unity.demo.head import BRAIN_OFFSET
from agents_env_unity.demo.png import encode
from agents_env_unity.demo.stream import write_varint
from agents_env_unity.messages.agent_pb2 import (
    DEFAULT,
    GOAL_SIGNAL,
    PNG,
    ActionSpecProto,
    AgentActionProto,
    AgentInfoProto,
    BrainParametersProto,
    ObservationProto,
    SpaceTypeProto,
)
from agents_env_unity.messages.demonstration_pb2 import AgentInfoActionPairProto, DemonstrationMetaProto

API_VERSION = 1

_DIMENSIONS = {"vector": (1,), "goal": (1,), "entities": (4, 1), "image": (1, 2, 2)}
_NO_NAME_CHARACTER = re.compile(r"[^A-Za-z0-9 -]")
_LARGEST_ID = 2**31 - 1


def write_demo(path: Path, demonstration: Demonstration) -> None:
    """Write a demonstration that passed `check_demonstration`.

    Raises:
        DemonstrationError: The format has no place for an observation, or the file cannot be written.
    """
    for spec in demonstration.spec.observations:
        _check_observation(spec, path)
    metadata = _metadata(demonstration, path.stem)
    with written_aside(path) as aside, aside.open("wb") as file:
        file.write(_delimited(metadata).ljust(BRAIN_OFFSET, b"\0"))
        file.write(_delimited(_brain(demonstration).SerializeToString()))
        for record in _records(demonstration):
            file.write(_delimited(record.SerializeToString()))
        file.write(metadata)  # the recorder leaves it at the end too


def _check_observation(spec: ObservationSpec, path: Path) -> None:
    rank = len(spec.shape)
    writable = rank == len(_DIMENSIONS[spec.kind]) and (
        spec.dtype == "float32" or (spec.dtype == "uint8" and spec.kind == "image" and spec.size > 0)
    )
    if not writable:
        raise DemonstrationError(
            f"{path}: a .demo file has no place for observation {spec.name!r}, {spec.kind} {spec.dtype}"
            f"{list(spec.shape)}; it holds float32 vectors, entities and images, and uint8 images. Write an .h5 file"
        )


def _delimited(message: bytes) -> bytes:
    return write_varint(len(message)) + message


def _metadata(demonstration: Demonstration, name: str) -> bytes:
    """Counts as the recorder makes them: it ends one more episode when it closes."""
    episodes = demonstration.episodes
    count = len(episodes.lengths) + 1
    metadata = DemonstrationMetaProto(
        api_version=API_VERSION,
        demonstration_name=_NO_NAME_CHARACTER.sub("", name)[:16],
        number_steps=len(episodes) + len(episodes.lengths),
        number_episodes=count,
        mean_reward=float(episodes.columns["reward"].sum(dtype=np.float64)) / count,
    )
    while len(metadata.SerializeToString()) >= BRAIN_OFFSET:
        metadata.demonstration_name = metadata.demonstration_name[:-1]
    written: bytes = metadata.SerializeToString()
    return written


def _brain(demonstration: Demonstration) -> BrainParametersProto:
    action = demonstration.spec.action
    brain = BrainParametersProto(
        brain_name=demonstration.behavior or "default",
        action_spec=ActionSpecProto(
            num_continuous_actions=action.continuous_size,
            num_discrete_actions=len(action.discrete_branches),
            discrete_branch_sizes=action.discrete_branches,
        ),
    )
    if action.continuous_size:
        brain.vector_action_space_type_deprecated = SpaceTypeProto.continuous
        brain.vector_action_size_deprecated.append(action.continuous_size)
    else:
        brain.vector_action_size_deprecated.extend(action.discrete_branches)
    return brain


def _records(demonstration: Demonstration) -> Iterator[AgentInfoActionPairProto]:
    episodes, spec = demonstration.episodes, demonstration.spec
    columns = episodes.columns
    agents = columns["agent_id"]
    if len(agents) and (agents.min() < 0 or agents.max() > _LARGEST_ID):
        agents = columns["episode_id"]
    end = 0
    for episode, length in enumerate(episodes.lengths.tolist()):
        start, end = end, end + length
        finals = tuple(array[episode] for array in episodes.final_observations)
        for row in range(start, end + 1):
            info = AgentInfoProto(id=int(agents[start]))
            seen = tuple(array[row] for array in columns.observations) if row < end else finals
            info.observations.extend(
                _observation(one, array) for one, array in zip(spec.observations, seen, strict=True)
            )
            if row < end and "action_mask" in columns:
                info.action_mask.extend(~columns["action_mask"][row])
            if "group_id" in columns:
                info.group_id = int(columns["group_id"][start]) + 1
            if row > start:
                info.reward = columns["reward"][row - 1]
                info.group_reward = columns["group_reward"][row - 1] if "group_reward" in columns else 0.0
            if row == end:
                info.done = True
                info.max_step_reached = bool(columns["truncated"][row - 1])
            yield AgentInfoActionPairProto(agent_info=info, action_info=_action(demonstration, row - 1, row > start))


def _action(demonstration: Demonstration, row: int, is_there: bool) -> AgentActionProto:
    """The action of a row, or zeros."""
    columns, spec = demonstration.episodes.columns, demonstration.spec.action
    continuous = columns["action.continuous"][row].tolist() if is_there else [0.0] * spec.continuous_size
    discrete = columns["action.discrete"][row].tolist() if is_there else [0] * len(spec.discrete_branches)
    return AgentActionProto(
        continuous_actions=continuous, discrete_actions=discrete, vector_actions_deprecated=[*continuous, *discrete]
    )


def _observation(spec: ObservationSpec, array: Array) -> ObservationProto:
    """An observation on the wire; images with their channels first."""
    image = spec.kind == "image"
    shape = (spec.shape[2], *spec.shape[:2]) if image else spec.shape
    written = ObservationProto(
        shape=shape,
        name=spec.name,
        dimension_properties=_DIMENSIONS[spec.kind],
        observation_type=GOAL_SIGNAL if spec.kind == "goal" else DEFAULT,
    )
    if spec.dtype == "uint8":
        written.compression_type = PNG
        written.compressed_data = encode(array)
    else:
        written.float_data.data.extend((np.moveaxis(array, 2, 0) if image else array).ravel())
    return written
