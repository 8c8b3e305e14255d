"""The reward-signal contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from agents_core.columns import Batch
from agents_core.schedules import Schedule
from agents_core.spec import BehaviorSpec

if TYPE_CHECKING:
    import torch

ConfigT = TypeVar("ConfigT")


@dataclass(frozen=True, slots=True)
class RewardSignalContext(Generic[ConfigT]):
    """What a reward-signal factory is called with.

    Attributes:
        name: Key under `reward_signals`, as in `reward/<name>/raw`.
        config: The signal's own config model, validated.
        spec: What the behavior sees and does.
        device: Where batches are and networks go.
        seed: Source of all randomness of the signal; spawn generators from it.
        max_steps: Length of the run in steps, for schedules.
    """

    name: str
    config: ConfigT
    spec: BehaviorSpec
    device: torch.device
    seed: np.random.SeedSequence
    max_steps: int


class RewardSignal(ABC):
    """Gives every transition a reward of its own; the trainer learns one value and one advantage for each signal.

    Attributes:
        strength: Factor on the reward in the policy's objective. A constant 0 means: evaluated, trained and logged,
            but no value head and no part in any loss.
        gamma: Discount of this signal's return.
        ignores_termination: Whether value continues across the end of an episode.
    """

    strength: Schedule
    gamma: float
    ignores_termination: bool = False

    def observe(self, batch: Batch) -> None:  # noqa: B027
        """See every new transition exactly once, before it is evaluated. Counts and normalisers change only here."""

    @abstractmethod
    def evaluate(self, batch: Batch) -> torch.Tensor:
        """Reward of each transition, float32[n], not yet scaled by `strength`. Pure: changes nothing."""

    def update(self, minibatch: Batch) -> dict[str, float]:  # noqa: ARG002
        """Train on one minibatch of the policy's own loop; return statistics, logged as `reward/<name>/<key>`."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue, as a tree of plain values, arrays and tensors."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        if state:
            raise ValueError(f"{type(self).__name__} has no state, but {sorted(state)} was given")
