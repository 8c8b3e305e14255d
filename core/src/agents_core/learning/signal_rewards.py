"""Rewards of a signal, checked before anything is learned from them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from agents_core.columns import Batch
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.errors import NonFiniteError, UserError


class BadRewardsError(UserError):
    """A reward signal returned what the contract does not allow; a mistake of whoever wrote it."""


def signal_rewards(name: str, signal: RewardSignal, batch: Batch, place: str) -> npt.NDArray[np.float32]:
    """What a signal gives for each transition, float32[n] on the host.

    Args:
        name: Key of the signal under `reward_signals`.
        signal: Has observed the batch.
        batch: Transitions.
        place: Behavior and step, for messages.

    Raises:
        BadRewardsError: It returned no float32 tensor of one number a transition.
        NonFiniteError: One of the numbers is not finite.
    """
    rewards = signal.evaluate(batch)
    author = f"{place}: reward signal {name!r} ({type(signal).__module__}:{type(signal).__qualname__})"
    if not isinstance(rewards, torch.Tensor):
        raise BadRewardsError(
            f"{author}: `evaluate` returned a {type(rewards).__name__}, expected a torch tensor float32[{len(batch)}]"
        )
    if rewards.shape != (len(batch),) or rewards.dtype != torch.float32:
        found = f"{str(rewards.dtype).removeprefix('torch.')}{list(rewards.shape)}"
        raise BadRewardsError(
            f"{author}: `evaluate` returned {found}, expected float32[{len(batch)}], one a transition"
        )
    values: npt.NDArray[np.float32] = rewards.detach().cpu().numpy()
    if not np.isfinite(values).all():
        raise NonFiniteError(f"{author} gave a reward that is not finite")
    return values
