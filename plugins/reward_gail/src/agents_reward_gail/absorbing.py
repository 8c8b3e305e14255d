"""What follows a termination, judged as a state of its own.

Where rewards end with the episode, those that are always positive pay for living on, whatever the expert did, and those
that are always negative for dying. Kostrikov et al. (2019) let an agent go from a terminal state into an absorbing one,
where it stays and is rewarded as everywhere else. All episodes then go on forever, and only what they hold matters.

The absorbing state is a single point, so that no network is needed to judge it: the best discriminator follows from how
much of their time, at the discount's horizon of 1 / (1 - γ), the expert and the agents spend there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from agents_reward_gail.discriminator import LIMIT
from agents_reward_gail.recent import RecentMean


class AbsorbingState:
    """Logits of the absorbing state, and what they change in those of all others.

    Args:
        gamma: Discount, less than 1.
        terminated: Share of the expert's rows that terminated.
    """

    def __init__(self, gamma: float, terminated: float) -> None:
        self._horizon = 1 / (1 - gamma)
        self._expert = self._share(terminated)
        self._terminations = RecentMean()

    def observe(self, rows: int, terminations: int) -> None:
        """Take in what agents did."""
        self._terminations.take(rows, terminations)

    @property
    def logit(self) -> float:
        """log of the expert's share of time in the absorbing state over the agents', in [-LIMIT, LIMIT]."""
        agents = self._agents()
        if agents is None or agents == self._expert:
            return 0.0
        ratio = _log(self._expert) - _log(agents)
        return min(max(ratio, -LIMIT), LIMIT)

    @property
    def offset(self) -> float:
        """log of the expert's share of time in other states over the agents': what a discriminator that was trained on
        as many rows of each does not know."""
        agents = self._agents()
        return 0.0 if agents is None else math.log(1 - self._expert) - math.log(1 - agents)

    def _agents(self) -> float | None:
        return None if self._terminations.is_empty else self._share(self._terminations.value)

    def _share(self, terminated: float) -> float:
        """Share of time in the absorbing state where this share of rows terminates."""
        stays = terminated * self._horizon
        return stays / (1 + stays)

    def state_dict(self) -> dict[str, Any]:
        return self._terminations.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._terminations.load_state_dict(state)


def _log(share: float) -> float:
    return math.log(share) if share else -math.inf
