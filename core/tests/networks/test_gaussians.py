"""Gaussians whose deviation depends on the state, and squashed ones, against closed forms and integrals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from agents_core.errors import UserError
from agents_core.networks.distributions import (
    LOG_STD_RANGE,
    ActionColumns,
    ActionForm,
    log_prob_and_entropy,
    log_tanh_slope,
)
from agents_core.networks.policy import NetworkPolicy
from agents_core.networks.sampling import choose_actions
from agents_core.options import NetworkConfig
from agents_core.spec import ActionSpec

SQUASHED = ActionForm(ActionSpec(1), squash=True)


def evaluate(
    form: ActionForm, outputs: torch.Tensor, log_std: torch.Tensor, raw: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    return log_prob_and_entropy(outputs, log_std, ActionColumns(raw, torch.empty(len(raw), 0), None), form)


def test_deviations_by_the_state_differ_between_rows() -> None:
    form = ActionForm(ActionSpec(2, (3,)), std_by_state=True)
    assert form.outputs == 7
    outputs = torch.tensor([[0.5, -1.0, -0.5, 0.3, 0, 0, 0], [0, 0, 1.0, -1.0, 0, 0, 0]])
    raw, discrete = torch.tensor([[1.0, 2.0], [0.5, 0.5]]), torch.tensor([[1], [2]])
    log_prob, entropy = log_prob_and_entropy(outputs, torch.empty(0), ActionColumns(raw, discrete, None), form)
    for row in range(2):
        mean, log_std = outputs[row, :2].numpy(), outputs[row, 2:4].numpy()
        scaled = (raw[row].numpy() - mean) / np.exp(log_std)
        expected = (-(scaled**2) / 2 - log_std - math.log(2 * math.pi) / 2).sum() - math.log(3)
        assert log_prob[row].item() == pytest.approx(expected, abs=1e-5)
        assert entropy[row].item() == pytest.approx(
            log_std.sum() + math.log(2 * math.pi * math.e) + math.log(3), abs=1e-5
        )


def test_deviations_by_the_state_are_those_of_the_samples() -> None:
    form = ActionForm(ActionSpec(1, bounded=False), std_by_state=True)
    outputs = np.repeat(np.array([[0.5, -2.0], [-1.0, 1.0]], np.float32), 20_000, axis=0)
    raw = choose_actions(outputs, np.empty(0, np.float32), None, form, np.random.default_rng(0)).raw
    assert raw is not None
    np.testing.assert_allclose(raw[:20_000].std(), math.exp(-2), rtol=0.02)
    np.testing.assert_allclose(raw[20_000:].std(), math.exp(1), rtol=0.02)


def test_a_deviation_by_the_state_stays_in_its_range() -> None:
    form = ActionForm(ActionSpec(1), std_by_state=True)
    for extreme, bound in ((-100.0, LOG_STD_RANGE[0]), (100.0, LOG_STD_RANGE[1])):
        _, entropy = evaluate(form, torch.tensor([[0.0, extreme]]), torch.empty(0), torch.zeros(1, 1))
        assert entropy.item() == pytest.approx(bound + math.log(2 * math.pi * math.e) / 2)


@pytest.mark.parametrize(("mean", "log_std"), [(0.0, 0.0), (1.0, -1.0), (-2.0, 0.5)])
def test_the_squashed_density_integrates_to_1(mean: float, log_std: float) -> None:
    # Over y = tanh(x) in (-1, 1), on a grid that is fine where the density is high.
    raw = torch.linspace(-12, 12, 200_001, dtype=torch.float64)[:, None]
    outputs = torch.full_like(raw, mean)
    log_prob, _ = evaluate(SQUASHED, outputs, torch.tensor([log_std], dtype=torch.float64), raw)
    actions = torch.tanh(raw)[:, 0]
    assert torch.trapezoid(log_prob.exp(), actions).item() == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(("mean", "log_std"), [(0.0, 0.0), (1.0, -1.0), (-2.0, 0.5), (3.0, -3.0)])
def test_the_squashed_entropy_is_the_mean_of_the_negative_log_probability(mean: float, log_std: float) -> None:
    raw = torch.linspace(mean - 9 * math.exp(log_std), mean + 9 * math.exp(log_std), 100_001, dtype=torch.float64)
    deviation = torch.tensor([log_std], dtype=torch.float64)
    log_prob, entropy = evaluate(SQUASHED, torch.full_like(raw, mean)[:, None], deviation, raw[:, None])
    gaussian = torch.exp(-(((raw - mean) / math.exp(log_std)) ** 2) / 2 - log_std) / math.sqrt(2 * math.pi)
    assert entropy[0].item() == pytest.approx(torch.trapezoid(-log_prob * gaussian, raw).item(), abs=1e-3)


def test_the_slope_of_tanh_is_exact_where_the_plain_formula_rounds_to_0() -> None:
    values = torch.tensor([0.0, 0.5, -3.0, 20.0, -60.0])
    # log(1 - tanh²(x)) -> log 4 - 2 |x| for large |x|
    expected = [
        0.0,
        math.log(1 - math.tanh(0.5) ** 2),
        math.log(1 - math.tanh(3) ** 2),
        math.log(4) - 40,
        math.log(4) - 120,
    ]
    np.testing.assert_allclose(log_tanh_slope(values).numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "form", [ActionForm(ActionSpec(2), by_state, squash) for by_state in (False, True) for squash in (False, True)]
)
def test_gradients_are_those_of_finite_differences(form: ActionForm) -> None:
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(3, form.outputs, dtype=torch.float64, generator=generator).requires_grad_()
    log_std = torch.randn(0 if form.std_by_state else 2, dtype=torch.float64, generator=generator).requires_grad_()
    raw = torch.randn(3, 2, dtype=torch.float64, generator=generator)
    assert torch.autograd.gradcheck(lambda *given: evaluate(form, *given, raw), (outputs, log_std))


def test_squashed_actions_are_the_tanh_of_the_samples_and_the_most_likely_one_that_of_the_mean() -> None:
    outputs = np.array([[0.5], [-30.0], [2.0]], np.float32)
    sampled = choose_actions(outputs, np.zeros(1, np.float32), None, SQUASHED, np.random.default_rng(0))
    assert sampled.raw is not None
    np.testing.assert_allclose(sampled.continuous, np.tanh(sampled.raw))
    likely = choose_actions(outputs, np.zeros(1, np.float32), None, SQUASHED, None)
    np.testing.assert_allclose(likely.continuous, np.tanh(outputs))
    assert np.abs(likely.continuous).max() <= 1


def test_squashing_actions_without_bounds_is_refused(make_network: Any) -> None:
    with pytest.raises(UserError, match=r"network\.squash.*no bounds"):
        make_network(ActionSpec(1, bounded=False), NetworkConfig(squash=True))
    make_network(ActionSpec(0, (2,)), NetworkConfig(squash=True))


@pytest.mark.parametrize("config", [NetworkConfig(squash=True), NetworkConfig(std="state")])
def test_only_the_plain_gaussian_is_computed_by_hand(make_network: Any, config: NetworkConfig) -> None:
    network = make_network(ActionSpec(2, (3,)), config)
    assert not network.is_plain
    actions = NetworkPolicy(network, np.random.default_rng(0)).act([np.zeros((4, 5), np.float32)])
    assert actions.continuous.shape == (4, 2)
    assert actions.discrete.shape == (4, 1)
