"""Finding the first number that is not finite."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from agents_core.errors import NonFiniteError

_ADVICE = "lower `learning_rate`, set `max_grad_norm`, or look for extreme rewards and observations"


def check_losses(losses: Mapping[str, float], where: str) -> None:
    """Refuse losses that are not finite.

    Raises:
        NonFiniteError: Names the loss.
    """
    for name, value in losses.items():
        if not math.isfinite(value):
            raise NonFiniteError(f"{where}: {name} became {value}; {_ADVICE}")


def check_weights(module: nn.Module, values: Tensor, where: str) -> None:
    """Refuse weights that are not finite.

    Args:
        module: Knows their names.
        values: All of its parameters in one tensor, which is quickly looked through.
        where: Begins the message.

    Raises:
        NonFiniteError: Names the parameter.
    """
    # A sum is finite only where every term is.
    if math.isfinite(float(values.sum())):
        return
    for name, parameter in module.named_parameters():
        if not bool(torch.isfinite(parameter).all()):
            raise NonFiniteError(f"{where}: weight {name!r} holds a number that is not finite; {_ADVICE}")
