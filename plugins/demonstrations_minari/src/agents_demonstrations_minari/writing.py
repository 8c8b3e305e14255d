"""Writing data sets to the local store."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import minari
import numpy as np
from agents_core.columns import Array
from agents_core.demonstrations import Demonstration, DemonstrationError
from gymnasium import spaces
from minari.data_collector import EpisodeBuffer
from minari.dataset.minari_dataset import parse_dataset_id
from minari.dataset.minari_storage import MinariStorage
from minari.namespace import create_namespace, list_local_namespaces
from minari.storage.datasets_root_dir import get_dataset_path

from agents_demonstrations_minari import actions, observations

AGENT_KEY = "agent_id"
"""Under which an episode's metadata holds the id of its agent."""


def write_dataset(dataset_id: str, demonstration: Demonstration) -> None:
    """Write a data set, in place of one that may be there.

    Raises:
        DemonstrationError: An observation cannot be held, or the store cannot be written to.
    """
    for spec in demonstration.spec.observations:
        if spec.dtype not in ("float32", "uint8"):
            raise DemonstrationError(
                f"minari:{dataset_id}: observation {spec.name!r} is {spec.dtype}; float32 and uint8 are written"
            )
    path = get_dataset_path(dataset_id)
    aside = path.with_name(f".{path.name}.new")
    try:
        namespace = parse_dataset_id(dataset_id)[0]
        if namespace is not None and namespace not in list_local_namespaces():
            create_namespace(namespace)
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        _fill(
            MinariStorage.new(
                aside / "data",
                observation_space=observations.space_of(demonstration.spec.observations),
                action_space=actions.space_of(demonstration.spec.action),
                jpeg_encoding=False,
            ),
            dataset_id,
            demonstration,
        )
        shutil.rmtree(path, ignore_errors=True)
        os.replace(aside, path)  # noqa: PTH105
    except OSError as error:
        raise DemonstrationError(f"minari:{dataset_id}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _fill(storage: MinariStorage, dataset_id: str, demonstration: Demonstration) -> None:
    episodes = demonstration.episodes
    storage.update_metadata({"dataset_id": dataset_id, "minari_version": minari.__version__})
    storage.update_episodes(_buffers(demonstration))
    agents = episodes.columns["agent_id"][episodes.last_rows]
    storage.update_episode_metadata({AGENT_KEY: int(agent)} for agent in agents)


def _buffers(demonstration: Demonstration) -> Iterator[EpisodeBuffer]:
    """Each episode; observations one more than actions."""
    episodes, spec = demonstration.episodes, demonstration.spec
    space = observations.space_of(spec.observations)
    end = 0
    for episode, length in enumerate(episodes.lengths.tolist()):
        columns = episodes.columns.take(slice(end, end + length))
        end += length
        seen = [
            np.concatenate([array, final[episode][None]])
            for array, final in zip(columns.observations, episodes.final_observations, strict=True)
        ]
        named = {one.name: array for one, array in zip(spec.observations, seen, strict=True)}
        yield EpisodeBuffer(
            id=episode,
            observations=named if isinstance(space, spaces.Dict) else seen[0],
            actions=actions.values_of(spec.action, columns["action.continuous"], columns["action.discrete"]),
            rewards=columns["reward"],
            terminations=columns["terminated"],
            truncations=columns["truncated"],
            infos=_infos(columns["action_mask"]) if "action_mask" in columns else None,
        )


def _infos(mask: Array) -> dict[str, Any]:
    """The masks, and one that allows everything for the final observation."""
    return {observations.MASK_KEY: np.concatenate([mask, np.ones((1, mask.shape[1]), np.bool_)])}
