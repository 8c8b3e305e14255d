"""Action masks: whatever form an environment gives them in, bool[n, sum of branches], True = allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from agents_core.errors import EnvironmentFailedError

from agents_env_gymnasium.actions import GroupNode, Node

Masks = npt.NDArray[np.bool_]


class MaskReader:
    """Reads the masks of one action space.

    A mask is one array with a number for each choice of all branches side by side, or is built like the action: a
    mapping for a Dict, a sequence for a Tuple and for the branches of a MultiDiscrete. None allows everything.
    """

    def __init__(self, root: Node) -> None:
        self._root = root
        self._size = sum(root.branches)
        self._starts = np.cumsum([0, *root.branches[:-1]])

    def read_rows(self, masks: Sequence[Any]) -> Masks:
        """The masks of n single environments; `masks` holds one of each."""
        rows = np.empty((len(masks), self._size), np.bool_)
        for number, mask in enumerate(masks):
            if isinstance(mask, np.ndarray) and mask.size == self._size and mask.dtype != object:
                rows[number] = mask.reshape(-1)
            else:
                rows[number] = _flatten(mask, self._root)
        return rows

    def read_batch(self, masks: Any, count: int) -> Masks:
        """The masks of a vector environment with `count` instances: an array, parts of n rows each, or n masks."""
        if isinstance(masks, np.ndarray) and masks.dtype != object and masks.size == count * self._size:
            return masks.reshape(count, self._size).astype(np.bool_)
        if isinstance(masks, (Mapping, tuple)):
            return self.read_rows([_row(masks, number) for number in range(count)])
        return self.read_rows(list(masks))

    def check(self, masks: Masks, numbers: npt.NDArray[np.int64]) -> None:
        """Refuse masks that allow nothing in a branch.

        Args:
            masks: bool[n, sum of branches] of agents that need an action.
            numbers: int64[n], their environments' numbers, for the message.

        Raises:
            EnvironmentFailedError: Names environment and branch.
        """
        possible = np.logical_or.reduceat(masks, self._starts, axis=1)
        if not possible.all():
            row, branch = (int(index) for index in np.argwhere(~possible)[0])
            raise EnvironmentFailedError(
                f"environment {int(numbers[row])}: the action mask allows nothing in branch {branch}; an "
                "environment in which no action is left must end the episode"
            )


def _row(parts: Any, number: int) -> Any:
    """One instance's mask of what a vector environment gave in parts."""
    if isinstance(parts, Mapping):
        # Gymnasium's own vector environments add `_key`, which instances have the key, to infos.
        return {key: _row(part, number) for key, part in parts.items() if not str(key).startswith("_")}
    return tuple(_row(part, number) for part in parts) if isinstance(parts, tuple) else parts[number]


def _flatten(mask: Any, node: Node) -> Masks:
    """One environment's mask, bool[sum of branches]."""
    size = sum(node.branches)
    if mask is None:
        return np.ones(size, np.bool_)
    if isinstance(mask, np.ndarray) and mask.dtype == object:
        mask = list(mask)
    is_sequence = isinstance(mask, (tuple, list)) and not all(np.ndim(part) == 0 for part in mask if part is not None)
    if isinstance(node, GroupNode) and (isinstance(mask, Mapping) or is_sequence):
        parts = dict(mask) if isinstance(mask, Mapping) else dict(enumerate(mask))
        if unknown := [key for key in parts if key not in node.children]:
            raise EnvironmentFailedError(
                f"the action mask has parts {unknown}, but the action space has {list(node.children)}"
            )
        # A part that the mask leaves out may do anything.
        return np.concatenate([_flatten(parts.get(key), child) for key, child in node.children.items()])
    found = np.concatenate([np.reshape(part, -1) for part in mask]) if is_sequence else np.reshape(mask, -1)
    if found.size != size:
        raise EnvironmentFailedError(
            f"an action mask holds {found.size} numbers, but the branches {list(node.branches)} have {size} choices"
        )
    return found.astype(np.bool_)
