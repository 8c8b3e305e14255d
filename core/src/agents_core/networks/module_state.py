"""The state of a torch module as a tree that checkpoints take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from agents_core.errors import UserError


def module_state(module: nn.Module) -> dict[str, Any]:
    """Copies of everything in `module.state_dict()`."""
    return {name: _copied(value) for name, value in module.state_dict().items()}


def load_module_state(module: nn.Module, state: Mapping[str, Any]) -> None:
    """Take over what `module_state` gave; parameters keep their place in memory.

    Raises:
        UserError: It belongs to another module; the message names the first tensor that differs.
    """
    expected, found = _shapes(module.state_dict()), _shapes(state)
    if found != expected:
        name = next(name for name in [*expected, *found] if found.get(name) != expected.get(name))
        raise UserError(
            f"the saved weights belong to another network: {name!r} has shape {found.get(name, 'none')} there and "
            f"{expected.get(name, 'none')} here. Use the `network:` section and the environment they were made with"
        )
    module.load_state_dict({name: _tensor(value) for name, value in state.items()})


def _copied(value: Any) -> Any:
    return value.detach().clone(memory_format=torch.contiguous_format) if isinstance(value, Tensor) else value


def _tensor(value: Any) -> Any:
    return torch.as_tensor(value) if hasattr(value, "shape") else value


def _shapes(state: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Of tensors; what a module says of itself otherwise is its own affair."""
    return {name: tuple(value.shape) for name, value in state.items() if hasattr(value, "shape")}
