"""Minari data sets as a format of demonstrations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import minari
import numpy as np
from agents_core.columns import Array, Columns
from agents_core.demonstrations import (
    Demonstration,
    DemonstrationError,
    DemonstrationFormat,
    DemonstrationFormatContext,
    check_demonstration,
)
from agents_core.spec import BehaviorSpec
from agents_core.trajectory import Trajectories
from minari.dataset.minari_dataset import parse_dataset_id
from minari.storage.datasets_root_dir import get_dataset_path

from agents_demonstrations_minari.actions import ActionLayout
from agents_demonstrations_minari.config import MinariConfig
from agents_demonstrations_minari.observations import MASK_KEY, leaves
from agents_demonstrations_minari.writing import AGENT_KEY, write_dataset


class MinariDatasets(DemonstrationFormat):
    """Reads and writes the local store."""

    def __init__(self, context: DemonstrationFormatContext[MinariConfig]) -> None:
        pass

    def read(self, source: str) -> Demonstration:
        _check_id(source)
        if not self.exists(source):
            known = ", ".join(sorted(minari.list_local_datasets())) or "none"
            raise DemonstrationError(
                f"minari:{source}: there is no such data set in {get_dataset_path()}; there are: {known}. "
                f"Fetch it with `minari download {source}`"
            )
        try:
            return _read(minari.load_dataset(source))
        except DemonstrationError as error:
            raise DemonstrationError(f"minari:{source}: {error}") from error
        except Exception as error:  # Minari and HDF5 raise about anything on a damaged data set
            raise DemonstrationError(f"minari:{source}: cannot be read: {type(error).__name__}: {error}") from error

    def write(self, target: str, demonstration: Demonstration) -> None:
        _check_id(target)
        check_demonstration(demonstration, f"minari:{target}")
        write_dataset(target, demonstration)

    def exists(self, target: str) -> bool:
        return Path(get_dataset_path(target), "data").is_dir()


def _check_id(source: str) -> None:
    try:
        parse_dataset_id(source)
    except ValueError:
        raise DemonstrationError(
            f"minari:{source}: a data set is called [NAMESPACE/]NAME-vN, such as mine/expert-v0"
        ) from None


def _read(dataset: minari.MinariDataset) -> Demonstration:
    seen = list(leaves(dataset.observation_space))
    layout = ActionLayout(dataset.action_space)
    spec = BehaviorSpec(tuple(leaf.spec for leaf in seen), layout.spec)
    episodes = [episode for episode in dataset.iterate_episodes() if len(episode.rewards)]
    if not episodes:
        raise DemonstrationError("the data set holds no transition")
    lengths = np.array([len(episode.rewards) for episode in episodes], np.int64)
    actions = [layout.read(episode.actions) for episode in episodes]
    fields: dict[str, Array] = {
        "action.continuous": np.concatenate([continuous for continuous, _ in actions]),
        "action.discrete": np.concatenate([discrete for _, discrete in actions]),
        "reward": np.concatenate([np.asarray(episode.rewards, np.float32) for episode in episodes]),
        "agent_id": np.repeat(list(_agents(dataset, episodes)), lengths),
        "episode_id": np.repeat(np.arange(len(lengths)), lengths),
    }
    terminated = np.concatenate([np.asarray(episode.terminations, np.bool_) for episode in episodes])
    truncated = np.concatenate([np.asarray(episode.truncations, np.bool_) for episode in episodes])
    last = np.cumsum(lengths) - 1
    truncated[last] |= ~terminated[last]  # the recording stopped there
    fields["terminated"], fields["truncated"] = terminated, truncated & ~terminated
    finals = []
    for i, leaf in enumerate(seen):
        arrays = [leaf.read(episode.observations) for episode in episodes]
        fields[f"obs.{i}"] = np.concatenate([array[:-1] for array in arrays])
        finals.append(np.stack([array[-1] for array in arrays]))
    masks = [_mask(episode, layout.spec.mask_size) for episode in episodes]
    if all(mask is not None for mask in masks) and layout.spec.mask_size:
        allowed = np.concatenate([mask for mask in masks if mask is not None])
        if not allowed.all():
            fields["action_mask"] = allowed
    return Demonstration(spec, Trajectories(Columns(fields), lengths, tuple(finals)))


def _agents(dataset: minari.MinariDataset, episodes: list[Any]) -> Iterator[int]:
    """Id of the agent of each episode; 0 in data sets that do not say."""
    metadata = dataset.storage.get_episode_metadata([episode.id for episode in episodes])
    return (int(entry.get(AGENT_KEY, 0)) for entry in metadata)


def _mask(episode: Any, width: int) -> Array | None:
    """bool[n, width] where the episode has masks, of its own or among its observations."""
    observations, infos = episode.observations, episode.infos
    found = infos.get(MASK_KEY) if isinstance(infos, dict) else None
    if found is None and isinstance(observations, dict):
        found = observations.get(MASK_KEY)
    mask = None if found is None else np.asarray(found)
    rows = len(episode.rewards)
    return mask[:rows] != 0 if mask is not None and mask.ndim == 2 and mask.shape[1] == width else None
