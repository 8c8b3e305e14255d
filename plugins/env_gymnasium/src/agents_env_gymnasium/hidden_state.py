"""Finds wrappers whose state a seeded reset does not restore."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.vector import SyncVectorEnv, VectorWrapper

_RUNNING = {"NormalizeObservation", "NormalizeReward"}
"""Wrappers of Gymnasium's own that keep running statistics over episodes."""


def stateful_wrappers(env: Any) -> tuple[str, ...]:
    """Names of the wrappers around an environment that may keep state over a reset.

    Gymnasium's own are known; of any other nobody can tell, so that it is named too.
    """
    names: list[str] = []
    while isinstance(env, (gymnasium.Wrapper, VectorWrapper)):
        kind = type(env)
        if kind.__name__ in _RUNNING or not kind.__module__.startswith("gymnasium.wrappers."):
            names.append(kind.__name__)
        env = env.env
    return (*names, *(stateful_wrappers(env.envs[0]) if isinstance(env, SyncVectorEnv) else ()))
