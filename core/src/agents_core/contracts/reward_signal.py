"""The reward-signal contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from agents_core.columns import Batch
from agents_core.contracts.encoder import ChosenEncoder
from agents_core.schedules import Schedule
from agents_core.spec import BehaviorSpec

if TYPE_CHECKING:
    import torch

    from agents_core.registry import Registry

ConfigT = TypeVar("ConfigT")


@dataclass(frozen=True, slots=True)
class RewardSignalContext(Generic[ConfigT]):
    """What a reward-signal factory is called with.

    Attributes:
        name: Key under `reward_signals`, as in `reward/<name>/raw`.
        config: The signal's own config model, validated.
        spec: What the behavior sees and does.
        device: Where batches are and networks go.
        seed: Source of all randomness of the signal: `np.random.default_rng(seed)` is a generator of numbers,
            `agents_core.networks.initialisation.torch_generator(seed)` one of first weights; where both are needed,
            give each its own child from `seed.spawn(2)`. Global generators are never used.
        max_steps: Length of the run in steps, for schedules.
        encoders: Encoders that the experiment chooses for the behavior's observations, by name; a network of the
            signal uses them too, see `agents_core.networks.features`.
        acts_only: Whether nothing will be learned or rewarded, so that what only that needs may be left away.
        registry: Where `agents_core.demonstrations.load_demonstrations` finds formats; None = what is installed.
    """

    name: str
    config: ConfigT
    spec: BehaviorSpec
    device: torch.device
    seed: np.random.SeedSequence
    max_steps: int
    encoders: Mapping[str, ChosenEncoder] = field(default_factory=dict)
    acts_only: bool = False
    registry: Registry | None = None


class RewardSignal(ABC):
    """Gives every transition a reward of its own; the trainer learns one value and one advantage for each signal.

    One instance serves one behavior, under any trainer. All three methods get a `Batch` (see `agents_core.columns`) on
    the context's device, which they must leave as it is, with `obs.<i>`, `next_obs.<i>`, `action.continuous` and
    `action.discrete` (what was executed), `reward`, `terminated`, `truncated` and, where the behavior has them,
    `action_mask` and `group_reward`. `next_obs.<i>` is what the same agent saw next; where its episode ended, the last
    thing it saw there, never the start of the next episode. A row is one decision of one agent: who has just appeared
    has none yet. Observations are as the environment gave them, in their own dtype and scale.

    - On-policy, for each rollout: `observe` and `evaluate` once, then `update` in each minibatch of every epoch.
    - Off-policy, for each new transition: `observe` once. For each sampled minibatch: `evaluate` and `update`. The same
      transition may come many times, in any company and long after it was observed.

    Attributes:
        strength: Factor on the reward in the policy's objective; the trainer applies it. A constant 0 means:
            evaluated, trained and logged, but no value head and no part in any loss.
        gamma: Discount of this signal's return.
        ignores_termination: Whether value continues across the end of an episode.
    """

    strength: Schedule
    gamma: float
    ignores_termination: bool = False

    def observe(self, batch: Batch) -> None:  # noqa: B027
        """See every new transition exactly once, before it is evaluated. Counts and normalisers change only here.

        Args:
            batch: Also with `agent_id` and `episode_id`, int64[n]. Transitions of one agent come in the order of time
                over all calls, those of different agents mixed; a call may bring one row or a whole rollout.
        """

    @abstractmethod
    def evaluate(self, batch: Batch) -> torch.Tensor:
        """Reward of each transition, float32[n], not yet scaled by `strength`.

        Pure: it changes nothing, and the reward of a row does not depend on the other rows of the batch.
        """

    def update(self, minibatch: Batch) -> dict[str, float]:  # noqa: ARG002
        """Train on one minibatch with an optimiser of the signal's own.

        The policy's steps may end early (`target_kl`), those of signals do not. The policy's own networks are out of
        reach. A trainer may skip the call for signals that do not override it.

        Returns:
            Statistics, averaged over the minibatches and logged as `reward/<name>/<key>`.
        """
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue, as a tree of plain values, arrays and tensors.

        Networks, optimisers and generators too; as copies, which do not change when the signal goes on.
        """
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        if state:
            raise ValueError(f"{type(self).__name__} has no state, but {sorted(state)} was given")
