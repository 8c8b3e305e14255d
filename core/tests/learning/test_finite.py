"""What is not finite is named."""

from __future__ import annotations

import math

import pytest
import torch
from agents_core.errors import NonFiniteError
from agents_core.learning.finite import check_losses, check_weights
from agents_core.networks.flat import FlatParameters
from torch import nn


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_loss_is_named(value: float) -> None:
    check_losses({"train/policy_loss": 1.0}, "here")
    with pytest.raises(NonFiniteError, match=r"behavior 'A', step 5: train/value_loss became") as error:
        check_losses({"train/policy_loss": 1.0, "train/value_loss": value}, "behavior 'A', step 5")
    assert error.value.exit_code == 4


def test_a_weight_is_named() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    flat = FlatParameters(module)
    check_weights(module, flat.values, "here")
    with torch.no_grad():
        module[1].bias[0] = math.nan
    with pytest.raises(NonFiniteError, match=r"here: weight '1.bias'"):
        check_weights(module, flat.values, "here")
