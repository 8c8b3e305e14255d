"""`last_replay_buffer.hdf5` as a format of demonstrations."""

from __future__ import annotations

from pathlib import Path

import h5py
from agents_core.demonstrations import (
    Demonstration,
    DemonstrationError,
    DemonstrationFormat,
    DemonstrationFormatContext,
)
from agents_core.hdf5_files import DAMAGE, reason_of

from agents_env_unity.config import ReplayBufferConfig
from agents_env_unity.replay_buffer.datasets import REWARD, Datasets
from agents_env_unity.replay_buffer.transitions import read_transitions

_TYPICAL = (REWARD, "obs:0", "next_obs:0")
"""Names that no other file has at its top."""


def is_replay_buffer(path: str) -> bool:
    """Whether a file is a replay buffer of ML-Agents, whole or in part; False where it cannot be opened."""
    try:
        with h5py.File(path, "r", locking=False) as file:
            return any(name in file for name in _TYPICAL)
    except DAMAGE:
        return False


class ReplayBufferFiles(DemonstrationFormat):
    """Reads what SAC of ML-Agents saved with `save_replay_buffer`; such files are never written."""

    def __init__(self, context: DemonstrationFormatContext[ReplayBufferConfig]) -> None:
        self._config = context.config

    def read(self, source: str) -> Demonstration:
        path = Path(source)
        try:
            with h5py.File(path, "r", locking=False) as file:
                return read_transitions(Datasets(file, path), self._config)
        except DAMAGE as error:
            raise DemonstrationError(f"{path}: no readable replay buffer of ML-Agents: {reason_of(error)}") from error
