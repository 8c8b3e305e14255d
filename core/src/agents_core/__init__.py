"""Contracts and machinery that every `agents` plugin builds on; the Python door is `train` and `load_policy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents_core.api import load_policy, train

__version__ = "0.1.0"
__all__ = ["__version__", "load_policy", "train"]


def __dir__() -> list[str]:
    return sorted([*globals(), "load_policy", "train"])


def __getattr__(name: str) -> Any:
    # The door opens torch; importing the package for a plugin's sake must not.
    if name in ("load_policy", "train"):
        from agents_core import api

        return getattr(api, name)
    raise AttributeError(f"module 'agents_core' has no attribute {name!r}")
