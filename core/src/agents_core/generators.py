"""The state of random generators as plain trees, so that a run continues with the numbers it would have drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import torch

AnyGenerator: TypeAlias = "np.random.Generator | torch.Generator"


def generator_state(generator: AnyGenerator) -> dict[str, Any]:
    """Where the generator stands, as a `state_dict` tree.

    Children that a NumPy generator's `spawn` gave are not part of it: take children from seeds, when a run is built.
    """
    if isinstance(generator, np.random.Generator):
        return {"kind": "numpy", "state": _plain(generator.bit_generator.state)}
    return {"kind": f"torch:{generator.device.type}", "state": generator.get_state()}


def set_generator_state(generator: AnyGenerator, state: Mapping[str, Any]) -> None:
    """Bring the generator to where `generator_state` was taken.

    Raises:
        ValueError: The state is that of another kind of generator.
    """
    own, saved = _kind(generator_state(generator)), _kind(state)
    if own != saved:
        raise ValueError(f"the state of a {saved} generator cannot be given to a {own} generator")
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state["state"]
    else:
        generator.set_state(state["state"])


def _kind(state: Mapping[str, Any]) -> str:
    kind: str = state["state"]["bit_generator"] if state["kind"] == "numpy" else state["kind"]
    return kind


def _plain(value: Any) -> Any:
    """NumPy integers as int; arrays as they are."""
    if isinstance(value, Mapping):
        return {key: _plain(child) for key, child in value.items()}
    return int(value) if isinstance(value, np.integer) else value
