"""The trainer contract: experience in, a better policy out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import numpy as np

from agents_core.columns import Columns
from agents_core.contracts.buffer import Buffer
from agents_core.contracts.demonstration import Demonstration
from agents_core.contracts.encoder import ChosenEncoder
from agents_core.contracts.policy import Policy
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.options import NetworkConfig
from agents_core.spec import BehaviorSpec
from agents_core.timers import Timers
from agents_core.trajectory import Trajectories

if TYPE_CHECKING:
    import torch

    from agents_core.registry import Registry

ConfigT = TypeVar("ConfigT")
Needs = Literal["trajectories", "transitions", "nothing"]


@dataclass(frozen=True, slots=True)
class TrainerContext(Generic[ConfigT]):
    """What a trainer factory is called with.

    Attributes:
        behavior: Name of the behavior, for messages.
        spec: What its agents see and do.
        config: The trainer's own config model, validated, and without conflicts with the other sections.
        network: The behavior's `network:` section.
        reward_signals: Built signals by name; at least one.
        max_steps: Length of the run in steps, for schedules.
        device: Where networks and batches go.
        seed: Source of all randomness of the trainer; spawn generators from it.
        timers: Where the trainer may time its parts.
        encoders: Encoders that the experiment chooses, by observation name; networks are made with them.
        make_buffer: Makes the buffer that the experiment chooses, given the policy's `memory_size`; None where the
            trainer declares none, and where it is made to act only.
        acts_only: Whether it is made for its policy alone, so that what only learning needs may be left away.
        demonstration: Of a trainer that needs nothing: what `demo_path` of its config names, in the form of `spec`;
            None where it acts only.
        registry: Where `agents_core.demonstrations.load_demonstrations` finds formats; None = what is installed.
    """

    behavior: str
    spec: BehaviorSpec
    config: ConfigT
    network: NetworkConfig
    reward_signals: Mapping[str, RewardSignal]
    max_steps: int
    device: torch.device
    seed: np.random.SeedSequence
    timers: Timers
    encoders: Mapping[str, ChosenEncoder] = field(default_factory=dict)
    make_buffer: Callable[[int], Buffer] | None = None
    acts_only: bool = False
    demonstration: Demonstration | None = None
    registry: Registry | None = None


class Trainer(ABC):
    """Owns policy, buffer and optimisers of one behavior; knows nothing of environments, files or the command line.

    Attributes:
        needs: `trajectories`: `process` gets `Trajectories` of at least `rollout_size` rows, all acted by the same
            policy. `transitions`: `process` gets `Columns` with `next_obs.<i>` (and `next_action_mask` where there
            are masks), once each agent's next observation is there. `nothing`: it learns from its demonstration;
            `process` gets an empty table, `is_ready` says whether there is still something to gain. With a `teacher`,
            `process` gets the experience of that behavior, in the form that the teacher's own trainer needs.
        rollout_size: Rows that a trainer of trajectories wants at once.
        policy: What acts; `update` changes it in place.
        buffer: What a trainer of transitions samples from; saved apart from the trainer's own state.
        rows_learned: Of a trainer that needs nothing: transitions that the last `update` trained on, which are its
            steps.
        score: Of a trainer that needs nothing: how good the policy is, for `best` where nothing is evaluated.
        teacher: Name of the behavior whose experience it learns from, of the same environment; None = its own, or none.
    """

    needs: Needs
    rollout_size: int = 0
    policy: Policy
    buffer: Buffer | None = None
    rows_learned: int = 0
    score: float | None = None
    teacher: str | None = None

    @abstractmethod
    def process(self, experience: Trajectories | Columns, step: int) -> None:
        """Take in experience.

        Args:
            experience: As `needs` says; its arrays may be reused after the next `update`.
            step: Decisions taken in this behavior so far, these included.
        """

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether `update` has something to do."""

    @abstractmethod
    def update(self) -> dict[str, float]:
        """Learn from what was processed; return statistics under full names such as `train/policy_loss`.

        Raises:
            NonFiniteError: A loss or a weight became NaN or infinite; the message names the tensor.
        """

    @abstractmethod
    def policy_state(self) -> dict[str, Any]:
        """What acting needs: network weights and normaliser."""

    @abstractmethod
    def load_policy_state(self, state: Mapping[str, Any]) -> None: ...

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """What else continuing needs: critics, optimisers, signals, generators."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...
