"""Losses of cloning against independent float64 calculations."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from agents_core.learning.cloning_loss import (
    LEAST_LOG_STD,
    MOST_SQUASHED,
    CloningError,
    ExpertActions,
    cloning_error,
    executed_log_prob,
    execution_error,
)
from agents_core.networks.distributions import ActionForm
from agents_core.spec import ActionSpec

BOUNDED = ActionForm(ActionSpec(2))
UNBOUNDED = ActionForm(ActionSpec(2, bounded=False))
SQUASHED = ActionForm(ActionSpec(2), squash=True)
EXECUTED = np.array([[0.3, -0.7], [1.0, 0.2], [-1.0, 1.0], [0.0, 0.95]])
MEAN = np.array([[0.1, -0.5], [0.6, 0.9], [0.4, 2.0], [-3.0, 1.5]])
LOG_STD = np.array([-0.5, 0.2])


def phi(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


def density(x: float, mean: float, std: float) -> float:
    return math.exp(-0.5 * ((x - mean) / std) ** 2) / (std * math.sqrt(2 * math.pi))


def log_likelihood(a: float, mean: float, std: float, form: ActionForm) -> float:
    """Of one executed number, by the definition."""
    if form.squash:
        bound = math.atanh(MOST_SQUASHED)
        if abs(a) < MOST_SQUASHED:
            return math.log(density(math.atanh(a), mean, std) / (1 - a * a))
    else:
        bound = 1.0
        if not form.spec.bounded or abs(a) < 1:
            return math.log(density(a, mean, std))
    return math.log(phi((mean - bound) / std) if a > 0 else phi((-bound - mean) / std))


def tensor(array: object) -> torch.Tensor:
    return torch.as_tensor(np.asarray(array), dtype=torch.float64)


@pytest.mark.parametrize("form", [BOUNDED, UNBOUNDED, SQUASHED])
def test_the_likelihood_is_that_of_what_was_executed(form: ActionForm) -> None:
    got = executed_log_prob(tensor(MEAN), tensor(LOG_STD), tensor(EXECUTED), form)
    expected = [
        sum(log_likelihood(a, m, math.exp(s), form) for a, m, s in zip(actions, means, LOG_STD, strict=True))
        for actions, means in zip(EXECUTED, MEAN, strict=True)
    ]
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)


def test_the_probabilities_of_what_a_clipped_gaussian_executes_add_up_to_1() -> None:
    form, mean, log_std = ActionForm(ActionSpec(1)), 0.4, -0.3
    inside = np.linspace(-1, 1, 20001)[1:-1]

    def probability(executed: np.ndarray) -> np.ndarray:
        actions = tensor(executed)[:, None]
        return executed_log_prob(torch.full_like(actions, mean), tensor([log_std]), actions, form).exp().numpy()

    total = probability(inside).sum() * 1e-4 + probability(np.array([-1.0, 1.0])).sum()
    assert total == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("form", [BOUNDED, UNBOUNDED, SQUASHED])
def test_gradients_agree_with_finite_differences(form: ActionForm) -> None:
    mean, log_std = tensor(MEAN).requires_grad_(), tensor(LOG_STD).requires_grad_()
    assert torch.autograd.gradcheck(lambda m, s: executed_log_prob(m, s, tensor(EXECUTED), form), (mean, log_std))


def test_far_from_the_expert_everything_stays_finite() -> None:
    for form in (BOUNDED, SQUASHED):
        mean = torch.tensor([[-60.0, 60.0]], requires_grad=True)
        log_std = torch.tensor([-20.0, -4.0], requires_grad=True)
        likelihood = executed_log_prob(mean, log_std, torch.tensor([[1.0, -1.0]]), form).sum()
        gradients = torch.autograd.grad(likelihood, (mean, log_std))
        assert math.isfinite(float(likelihood.detach()))
        assert all(bool(torch.isfinite(gradient).all()) for gradient in gradients)
        assert gradients[0][0, 0] > 0 > gradients[0][0, 1]


def test_below_the_least_deviation_nothing_is_gained() -> None:
    action = torch.zeros(1, 2)
    least = executed_log_prob(action, torch.full((2,), LEAST_LOG_STD), action, BOUNDED)
    assert torch.equal(executed_log_prob(action, torch.full((2,), -9.0), action, BOUNDED), least)


def test_the_error_is_that_of_the_executed_action_and_none_where_both_are_at_a_bound() -> None:
    mean = tensor([[0.5, 3.0], [3.0, -2.0]])
    executed = tensor([[0.2, 1.0], [0.4, 1.0]])
    # 0.3² and nothing; then 2.6² and 3², before clipping.
    np.testing.assert_allclose(execution_error(mean, executed, BOUNDED), [0.09 / 2, (2.6**2 + 9) / 2])
    np.testing.assert_allclose(execution_error(mean, executed, UNBOUNDED), [(0.09 + 4) / 2, (2.6**2 + 9) / 2])
    squashed = ((mean.tanh() - executed) ** 2).mean(dim=1)
    np.testing.assert_allclose(execution_error(mean, executed, SQUASHED), squashed)


HYBRID = ActionForm(ActionSpec(1, (2, 3)))
LOGITS = np.array([[0.0, 1.0, -0.5, 0.3, 0.8, 2.0], [0.2, -1.0, 0.5, 1.3, 0.1, 0.4]])
CHOSEN = np.array([[0, 2], [1, 0]])
MASK = np.array([[True, True, False, True, True], [True, False, True, True, False]])


def hybrid_error(loss: str = "nll", mask: np.ndarray | None = MASK) -> CloningError:
    expert = ExpertActions(
        tensor([[0.4], [-1.0]]), torch.from_numpy(CHOSEN), None if mask is None else torch.from_numpy(mask)
    )
    return cloning_error(tensor(LOGITS), tensor([-0.7]), expert, HYBRID, loss)


def log_softmax(logits: list[float], chosen: int) -> float:
    return logits[chosen] - math.log(sum(map(math.exp, logits)))


def test_continuous_parts_and_branches_add_up_to_a_joint_likelihood() -> None:
    continuous = [log_likelihood(a, m, math.exp(-0.7), HYBRID) for a, m in ((0.4, 0.0), (-1.0, 0.2))]
    discrete = [
        log_softmax([1.0, -0.5], 0) + log_softmax([0.8, 2.0], 1),
        # The choice that the mask forbids was taken all the same.
        log_softmax([-1.0, 0.5], 1) + log_softmax([1.3, 0.1], 0),
    ]
    error = hybrid_error()
    np.testing.assert_allclose(error.nll, [-c - d for c, d in zip(continuous, discrete, strict=True)], rtol=1e-6)
    assert torch.equal(error.loss, error.nll)
    np.testing.assert_allclose(error.squared_error, [0.16, 1.44])
    np.testing.assert_allclose(error.accuracy, [1.0, 1.0])
    np.testing.assert_allclose(hybrid_error("mse").loss, [0.16 - discrete[0], 1.44 - discrete[1]], rtol=1e-6)


def test_forbidden_choices_have_no_part() -> None:
    free = hybrid_error(mask=None)
    assert free.nll[0] > hybrid_error().nll[0]
    np.testing.assert_allclose(free.accuracy, [1.0, 1.0])
    other = np.array([[True] * 5, [True] * 5])
    np.testing.assert_allclose(hybrid_error(mask=other).nll, free.nll)


def test_the_squared_error_leaves_the_deviation_alone() -> None:
    mean, log_std = tensor([[0.5]]).requires_grad_(), tensor([0.1]).requires_grad_()
    expert = ExpertActions(tensor([[0.1]]), torch.zeros(1, 0, dtype=torch.int64), None)
    loss = cloning_error(mean, log_std, expert, ActionForm(ActionSpec(1)), "mse").loss.sum()
    gradients = torch.autograd.grad(loss, (mean, log_std), allow_unused=True)
    assert float(gradients[0]) == pytest.approx(0.8)
    assert gradients[1] is None
