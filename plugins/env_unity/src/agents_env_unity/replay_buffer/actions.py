"""What agents did, from a replay buffer of ML-Agents; how many choices they had is not written in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from agents_core.columns import Array
from agents_core.spec import ActionSpec

from agents_env_unity.replay_buffer.datasets import Datasets

Branches = tuple[int, ...]

_LARGEST_CHOICE = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Acted:
    """The actions of all steps.

    Attributes:
        spec: What they are.
        continuous: float32[n, size], as SAC of ML-Agents executes them, which is within [-1, 1].
        discrete: int64[n, branches].
        mask: bool[n, choices], False = forbidden; None where nothing was.
    """

    spec: ActionSpec
    continuous: Array
    discrete: Array
    mask: Array | None


def read_actions(data: Datasets, branches: Branches | None) -> Acted:
    """All of them.

    Args:
        data: Where from.
        branches: How many choices each branch has; None = what the file tells.

    Raises:
        DemonstrationError: There are none, one is no choice, or the branches are wrong or cannot be told.
    """
    continuous = _read(data, "continuous_action")
    discrete = _choices(data, _read(data, "discrete_action"))
    if not continuous.shape[1] and not discrete.shape[1]:
        raise data.error("there is neither a continuous_action nor a discrete_action in it")
    mask = _read(data, "action_mask") != 0 if "action_mask" in data else None
    sizes = _sizes(data, discrete, None if mask is None else mask.shape[1], branches)
    if mask is not None and (mask.shape[1] != sum(sizes) or mask.all()):
        mask = None
    bounded = bool(np.abs(continuous).max(initial=0.0) <= 1)
    return Acted(ActionSpec(continuous.shape[1], sizes, bounded), continuous, discrete, mask)


def _read(data: Datasets, name: str) -> Array:
    """float32[n, size]; nothing where there is no such dataset."""
    if name not in data:
        return np.empty((data.count, 0), np.float32)
    if len(data.shape(name)) != 1:
        raise data.error(f"{name} has rows of shape {list(data.shape(name))}, expected one dimension")
    return data.read(name)


def _choices(data: Datasets, stored: Array) -> Array:
    """The floats as the whole numbers that they must be."""
    wrong = ((stored != np.rint(stored)) | (stored < 0) | (stored > _LARGEST_CHOICE)).any(axis=1)
    if wrong.any():
        row = int(np.flatnonzero(data.kept)[np.argmax(wrong)])
        raise data.error(f"discrete_action holds {stored[np.argmax(wrong)].tolist()} at row {row}, which is no choice")
    return stored.astype(np.int64)


def _sizes(data: Datasets, chosen: Array, width: int | None, given: Branches | None) -> Branches:
    """Choices of each branch: given, told by the mask's width, or the fewest there can be."""
    count = chosen.shape[1]
    fewest: Branches = tuple((chosen.max(axis=0, initial=0) + 1).tolist())
    if width == count and sum(fewest) > count:
        width = None  # What ML-Agents writes where an environment gives no masks.
    if given is not None:
        return _checked(data, given, fewest, width)
    if width == sum(fewest):
        return fewest
    if width is not None and count == 1 and width > fewest[0]:
        return (width,)
    if width is None or not count:
        if count:
            data.warn(
                f"how many choices there are is not in it; branches {fewest} are the fewest, --option branches="
                "N,N,... says how many"
            )
        return fewest
    raise data.error(
        f"its {count} branches have {width} choices in all, and those taken need {fewest} at least; say how many each "
        "has with --option branches=N,N,... of `agents demo`"
    )


def _checked(data: Datasets, given: Branches, fewest: Branches, width: int | None) -> Branches:
    fits = len(given) == len(fewest) and all(size >= least for size, least in zip(given, fewest, strict=True))
    if not fits or (width is not None and width != sum(given)):
        choices = "" if width is None else f", {width} choices in all"
        raise data.error(f"branches {given} do not fit: there are {len(fewest)}, at least {fewest}{choices}")
    return given
