"""What signals give, checked before anything is learned or written from it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping

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
    author = _author(name, signal, place)
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


def update_signals(signals: Mapping[str, RewardSignal], minibatch: Batch, place: str) -> dict[str, float]:
    """Let signals train on a minibatch.

    Args:
        signals: By name.
        minibatch: Transitions that they have observed.
        place: Behavior and step, for messages.

    Returns:
        Their statistics as `reward/<name>/<key>`.

    Raises:
        BadRewardsError: A signal returned no dict of numbers.
        NonFiniteError: One of the numbers is not finite.
    """
    collected: dict[str, float] = {}
    for name, signal in signals.items():
        stats = signal.update(minibatch)
        author = _author(name, signal, place)
        if not isinstance(stats, Mapping):
            raise BadRewardsError(f"{author}: `update` returned {type(stats).__name__}, expected a dict of numbers")
        for key, value in stats.items():
            if not isinstance(value, numbers.Real):
                raise BadRewardsError(f"{author}: `update` returned {key!r} as a {type(value).__name__}, not a number")
            if not math.isfinite(value):
                raise NonFiniteError(f"{author}: `update` returned {key!r} as {value}")
            collected[f"reward/{name}/{key}"] = float(value)
    return collected


def _author(name: str, signal: RewardSignal, place: str) -> str:
    return f"{place}: reward signal {name!r} ({type(signal).__module__}:{type(signal).__qualname__})"
