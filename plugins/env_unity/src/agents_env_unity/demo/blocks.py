"""What some thousand records hold besides observations, collected one by one and turned into arrays at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from agents_core.columns import Array
from agents_core.spec import ActionSpec

from agents_env_unity.demo.observations import RecordError, floats

Scalars = tuple[float, bool, bool, int, int, float]
"""Reward, done, max_step_reached, id, group_id, group_reward."""


class Block:
    """Collects records; `flush` gives their columns.

    Args:
        action: What the agents do.
    """

    def __init__(self, action: ActionSpec) -> None:
        self._action = action
        self._no_discrete = (0,) * len(action.discrete_branches)
        self._no_continuous = bytes(4 * action.continuous_size)
        self.is_deprecated = False
        """Whether any action stood in the deprecated list."""
        self.odd_masks = 0
        """Masks of another length than the choices."""
        self._clear()

    def _clear(self) -> None:
        self.offsets: list[int] = []
        self._scalars: list[Scalars] = []
        self._continuous: list[bytes] = []
        self._discrete: list[Sequence[float]] = []
        self._has_action: list[bool] = []
        self._masks: list[bytes] = []

    def add(self, scalars: Scalars, mask: bytes) -> None:
        """Keep a record's own fields; its action follows."""
        self._scalars.append(scalars)
        self._masks.append(mask)

    def add_action(self, continuous: bytes, discrete: Sequence[int]) -> None:
        """Keep an action of the present fields.

        Raises:
            RecordError: It has other sizes than the action spec.
        """
        if len(discrete) != len(self._no_discrete) or len(continuous) != len(self._no_continuous):
            raise RecordError(
                f"an action of {len(continuous) / 4:g} continuous and {len(discrete)} discrete numbers, the head says "
                f"{self._action.continuous_size} and {len(self._no_discrete)}"
            )
        self._append(continuous, tuple(discrete), True)

    def add_deprecated_action(self, data: bytes) -> None:
        """Keep an action of the deprecated list: floats, continuous ones first.

        Raises:
            RecordError: It has another size than the action spec.
        """
        if not data:
            self._append(self._no_continuous, self._no_discrete, False)
            return
        self.is_deprecated = True
        split = len(self._no_continuous)
        if len(data) != split + 4 * len(self._no_discrete):
            raise RecordError(
                f"an action of {len(data) / 4:g} numbers, the head says "
                f"{self._action.continuous_size + len(self._no_discrete)}"
            )
        discrete = floats([data[split:]], len(self._no_discrete), "a discrete action")[0]
        self._append(data[:split], discrete.tolist(), True)

    def _append(self, continuous: bytes, discrete: Sequence[float], is_there: bool) -> None:
        self._continuous.append(continuous)
        self._discrete.append(discrete)
        self._has_action.append(is_there)

    def flush(self) -> dict[str, Array]:
        """The columns of the records since the last call.

        Raises:
            RecordError: A number is not finite.
        """
        rows = len(self.offsets)
        scalars = np.array(self._scalars, np.float64).reshape(rows, 6)
        rewards = scalars[:, [0, 5]]
        if not np.isfinite(rewards).all():
            raise RecordError("a reward is not finite", int(np.argmin(np.isfinite(rewards).all(axis=1))))
        discrete = np.rint(np.array(self._discrete, np.float64)).reshape(rows, len(self._no_discrete))
        arrays: dict[str, Array] = {
            "action.continuous": floats(self._continuous, self._action.continuous_size, "a continuous action"),
            "action.discrete": np.clip(discrete, -1, 2**31).astype(np.int64),
            "has_action": np.array(self._has_action, np.bool_),
            "reward": scalars[:, 0].astype(np.float32),
            "done": scalars[:, 1] != 0,
            "max_step": scalars[:, 2] != 0,
            "id": scalars[:, 3].astype(np.int32),
            "offset": np.array(self.offsets, np.int64),
        }
        if scalars[:, 4:].any():
            arrays["group_id"] = scalars[:, 4].astype(np.int32)
            arrays["group_reward"] = scalars[:, 5].astype(np.float32)
        if any(self._masks):
            arrays["mask"] = self._allowed()
        self._clear()
        return arrays

    def _allowed(self) -> Array:
        """bool[n, choices]; on the wire true means forbidden, and a mask of a wrong length nothing."""
        width = self._action.mask_size
        nothing = bytes(width)
        self.odd_masks += sum(len(mask) not in (0, width) for mask in self._masks)
        masks = b"".join(mask if len(mask) == width else nothing for mask in self._masks)
        allowed: Array = np.frombuffer(masks, np.uint8).reshape(len(self._masks), width) == 0
        return allowed
