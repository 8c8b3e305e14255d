"""Flat parameters are the module's own."""

from __future__ import annotations

import pytest
import torch
from agents_core.networks.flat import FlatParameters
from torch import nn


def build() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Conv1d(4, 2, 1), nn.Linear(3, 2), nn.Linear(3, 5))


def test_flattening_changes_no_parameter() -> None:
    before = [parameter.detach().clone() for parameter in build().parameters()]
    module = build()
    FlatParameters(module)
    assert all(torch.equal(old, new) for old, new in zip(before, module.parameters(), strict=True))


def test_values_and_parameters_share_memory() -> None:
    module = build()
    flat = FlatParameters(module)
    flat.values.zero_()
    assert all(not parameter.any() for parameter in module.parameters())
    assert len(flat.values) == sum(parameter.numel() for parameter in module.parameters())


def test_a_shared_submodule_is_held_once() -> None:
    part = nn.Linear(2, 2)
    assert len(FlatParameters(nn.Sequential(part, part)).values) == 6


def test_a_block_holds_weight_and_bias_side_by_side() -> None:
    module = build()
    values, _ = FlatParameters(module, blocks=True).block(module[0])
    assert torch.equal(values[:, :3], module[0].weight)
    assert torch.equal(values[:, 3], module[0].bias)


def test_neighbouring_layers_make_one_block() -> None:
    module = build()
    flat = FlatParameters(module, blocks=True)
    values, _ = flat.block(module[2], module[3])
    assert torch.equal(values[:2, :3], module[2].weight)
    assert torch.equal(values[2:, :3], module[3].weight)


def test_layers_apart_make_no_block() -> None:
    module = build()
    with pytest.raises(ValueError, match="no neighbours"):
        FlatParameters(module, blocks=True).block(module[0], module[2])


def test_differentiate_fills_the_whole_gradient() -> None:
    module = nn.Sequential(nn.Linear(2, 1), nn.Linear(2, 1))
    flat = FlatParameters(module)
    flat.gradient.fill_(7)
    flat.differentiate(module[0](torch.tensor([[2.0, 3.0]])).sum())
    # d(w·x + b) = (x, 1); the second layer has no part in the loss.
    assert flat.gradient.tolist() == [2, 3, 1, 0, 0, 0]
    assert flat.gradient_of(module[0].bias).tolist() == [1]


def test_without_blocks_weights_have_no_gaps() -> None:
    module = build()
    flat = FlatParameters(module)
    assert module[0].weight.is_contiguous()
    assert flat.gradient_of(module[0].weight).is_contiguous()
