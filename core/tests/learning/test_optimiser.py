"""Adam on flat parameters does what torch's does."""

from __future__ import annotations

import pytest
import torch
from agents_core.learning import optimiser
from agents_core.learning.optimiser import FlatAdam
from agents_core.networks.flat import FlatParameters
from torch import nn


def build() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


@pytest.mark.parametrize("max_norm", [None, 0.5, 100.0])
def test_steps_equal_torch_adam_with_clipping(max_norm: float | None) -> None:
    module, reference = build(), build()
    flat = FlatParameters(module)
    adam, torch_adam = FlatAdam(flat), torch.optim.Adam(reference.parameters(), eps=1e-5)
    for step in range(20):
        inputs = torch.randn(8, 3, generator=torch.Generator().manual_seed(step))
        flat.differentiate((module(inputs) - 3).square().sum())
        torch_adam.zero_grad()
        (reference(inputs) - 3).square().sum().backward()
        if max_norm is not None:
            nn.utils.clip_grad_norm_(reference.parameters(), max_norm)
        rate = 0.1 / (step + 1)
        adam.step(rate, max_norm)
        torch_adam.param_groups[0]["lr"] = rate
        torch_adam.step()
    for own, other in zip(module.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(own, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("max_norm", [None, 0.5])
def test_torch_s_fused_optimiser_takes_the_same_steps(monkeypatch: pytest.MonkeyPatch, max_norm: float | None) -> None:
    few, many = FlatParameters(build()), FlatParameters(build())
    by_numpy = FlatAdam(few)
    monkeypatch.setattr(optimiser, "MANY", 1)
    fused = FlatAdam(many)
    for step in range(5):
        gradient = torch.randn(26, generator=torch.Generator().manual_seed(step))
        for flat, adam in ((few, by_numpy), (many, fused)):
            flat.gradient.copy_(gradient)
            adam.step(0.1 / (step + 1), max_norm)
    torch.testing.assert_close(few.values, many.values, atol=1e-6, rtol=1e-6)
    state = fused.state_dict()
    torch.testing.assert_close(state["mean"], by_numpy.state_dict()["mean"])
    assert state["steps"] == 5


def test_minimising_a_loss_is_a_step_against_its_gradient() -> None:
    module, reference = build(), build()
    adam, by_hand = FlatAdam(FlatParameters(module)), FlatAdam(FlatParameters(reference))
    adam.minimise(module(torch.ones(1, 3)).sum(), 0.1)
    by_hand.parameters.differentiate(reference(torch.ones(1, 3)).sum())
    by_hand.step(0.1)
    assert torch.equal(adam.parameters.values, by_hand.parameters.values)
    assert not torch.equal(adam.parameters.values, FlatParameters(build()).values)


def test_a_rate_of_0_moves_nothing() -> None:
    flat = FlatParameters(build())
    before = flat.values.clone()
    flat.gradient.normal_()
    FlatAdam(flat).step(0.0, 0.5)
    assert torch.equal(flat.values, before)


@pytest.mark.parametrize("many", [1, optimiser.MANY], ids=["fused", "numpy"])
def test_state_continues_bit_for_bit(monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    monkeypatch.setattr(optimiser, "MANY", many)

    def advance(adam: FlatAdam, steps: range) -> None:
        for step in steps:
            adam.parameters.gradient.copy_(torch.randn(26, generator=torch.Generator().manual_seed(step)))
            adam.step(0.1, 0.5)

    whole, first, second = (FlatAdam(FlatParameters(build())) for _ in range(3))
    advance(whole, range(10))
    advance(first, range(4))
    second.load_state_dict(first.state_dict())
    second.parameters.values.copy_(first.parameters.values)
    advance(second, range(4, 10))
    assert torch.equal(whole.parameters.values, second.parameters.values)
