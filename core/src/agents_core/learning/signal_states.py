"""Giving reward signals back what a checkpoint holds of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents_core.contracts.reward_signal import RewardSignal
from agents_core.errors import UserError


def load_signals(signals: Mapping[str, RewardSignal], saved: Mapping[str, Any]) -> None:
    """Let signals take over what their `state_dict` gave.

    Args:
        signals: By name.
        saved: Their states by the same names.

    Raises:
        UserError: A signal was set up otherwise when it was saved; names it and what differs.
    """
    for name, signal in signals.items():
        try:
            signal.load_state_dict(saved[name])
        except (AttributeError, KeyError, RuntimeError, TypeError, ValueError, UserError) as error:
            difference = _first_difference(saved.get(name), signal.state_dict()) or error
            raise UserError(
                f"reward signal {name!r} does not fit its saved state: {difference}. Use the section "
                f"`reward_signals.{name}` that it was trained with"
            ) from error


def _first_difference(saved: object, own: object, place: str = "") -> str | None:
    """The first key that one tree lacks, or array of another shape or type; None may stand in for anything."""
    if isinstance(saved, Mapping) and isinstance(own, Mapping):
        for key in {**own, **saved}:
            inner = f"{place}.{key}" if place else str(key)
            if key not in saved or key not in own:
                return f"{inner}: saved {_described(saved.get(key))}, here {_described(own.get(key))}"
            if difference := _first_difference(saved[key], own[key], inner):
                return difference
        return None
    if hasattr(saved, "shape") and hasattr(own, "shape") and _described(saved) != _described(own):
        return f"{place}: saved {_described(saved)}, here {_described(own)}"
    return None


def _described(value: object) -> str:
    if value is None:
        return "nothing"
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    return "a value" if shape is None else f"{str(dtype).removeprefix('torch.')}{list(shape)}"
