"""The contract of buffers that off-policy trainers sample from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from agents_core.columns import Batch, Columns


class Buffer(ABC):
    """Keeps transitions and gives back minibatches."""

    @abstractmethod
    def add(self, transitions: Columns) -> None:
        """Take in transitions with `next_obs.<i>`, dropping the oldest ones beyond the capacity."""

    @abstractmethod
    def sample(self, batch_size: int, generator: np.random.Generator) -> Batch:
        """A minibatch of `batch_size` transitions on the training device."""

    @abstractmethod
    def __len__(self) -> int:
        """Transitions that can be sampled."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]: ...

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...
