"""Log-probabilities and entropies against an independent float64 calculation, and samples against both."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from agents_core.errors import EnvironmentFailedError
from agents_core.networks.distributions import ActionColumns, ActionForm, log_prob_and_entropy
from agents_core.networks.sampling import choose_actions
from agents_core.spec import ActionSpec

LOG_STD = np.array([-0.5, 0.3], np.float32)


def evaluate(
    spec: ActionSpec, outputs: np.ndarray, raw: np.ndarray, discrete: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    columns = ActionColumns(
        torch.from_numpy(raw), torch.from_numpy(discrete), None if mask is None else torch.from_numpy(mask)
    )
    log_std = torch.from_numpy(LOG_STD[: spec.continuous_size])
    log_prob, entropy = log_prob_and_entropy(torch.from_numpy(outputs), log_std, columns, ActionForm(spec))
    return log_prob.numpy(), entropy.numpy()


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits.astype(np.float64) - logits.max())
    return powers / powers.sum()


def test_gaussian_by_hand() -> None:
    mean, raw = np.array([[0.5, -1.0]], np.float32), np.array([[1.0, 2.0]], np.float32)
    log_prob, entropy = evaluate(ActionSpec(2), mean, raw, np.empty((1, 0), np.int64))
    expected = sum(
        -(((x - m) / math.exp(s)) ** 2) / 2 - s - math.log(2 * math.pi) / 2
        for x, m, s in zip([1.0, 2.0], [0.5, -1.0], [-0.5, 0.3], strict=True)
    )
    assert log_prob[0] == pytest.approx(expected, abs=1e-5)
    assert entropy[0] == pytest.approx(-0.5 + 0.3 + math.log(2 * math.pi * math.e), abs=1e-5)


def test_branches_and_dimensions_add_up() -> None:
    spec = ActionSpec(1, (2, 3))
    outputs = np.array([[0.0, 1.0, -1.0, 0.5, 0.0, 2.0]], np.float32)
    log_prob, entropy = evaluate(spec, outputs, np.array([[0.4]], np.float32), np.array([[1, 2]]))
    first, second = softmax(outputs[0, 1:3]), softmax(outputs[0, 3:])
    std = math.exp(-0.5)
    gaussian = -((0.4 / std) ** 2) / 2 + 0.5 - math.log(2 * math.pi) / 2
    assert log_prob[0] == pytest.approx(gaussian + math.log(first[1]) + math.log(second[2]), abs=1e-5)
    expected = (
        -0.5 + math.log(2 * math.pi * math.e) / 2 - (first * np.log(first)).sum() - (second * np.log(second)).sum()
    )
    assert entropy[0] == pytest.approx(expected, abs=1e-5)


def test_a_masked_action_counts_for_nothing() -> None:
    spec = ActionSpec(0, (4,))
    outputs = np.array([[9.0, 1.0, 2.0, 50.0]], np.float32)
    mask = np.array([[False, True, True, False]])
    empty = np.empty((1, 0), np.float32)
    log_prob, entropy = evaluate(spec, outputs, empty, np.array([[2]]), mask)
    legal = softmax(np.array([1.0, 2.0]))
    assert log_prob[0] == pytest.approx(math.log(legal[1]), abs=1e-6)
    assert entropy[0] == pytest.approx(-(legal * np.log(legal)).sum(), abs=1e-6)
    assert np.exp(evaluate(spec, outputs, empty, np.array([[3]]), mask)[0][0]) == 0


def test_a_single_legal_action_is_certain() -> None:
    log_prob, entropy = evaluate(
        ActionSpec(0, (3,)),
        np.array([[0.0, -80.0, 3.0]], np.float32),
        np.empty((1, 0), np.float32),
        np.array([[1]]),
        np.array([[False, True, False]]),
    )
    assert log_prob[0] == 0
    assert entropy[0] == 0


def test_no_gradient_reaches_masked_logits() -> None:
    outputs = torch.tensor([[9.0, 1.0, 2.0]], requires_grad=True)
    columns = ActionColumns(torch.empty(1, 0), torch.tensor([[2]]), torch.tensor([[False, True, True]]))
    log_prob, entropy = log_prob_and_entropy(outputs, torch.empty(0), columns, ActionForm(ActionSpec(0, (3,))))
    (log_prob + entropy).sum().backward()
    assert outputs.grad is not None
    assert outputs.grad[0, 0] == 0
    assert torch.isfinite(outputs.grad).all()


def test_samples_follow_the_probabilities() -> None:
    rows = 20000
    logits = np.tile(np.array([0.0, 1.0, -1.0, 3.0], np.float32), (rows, 1))
    mask = np.tile(np.array([True, True, True, False]), (rows, 1))
    actions = choose_actions(logits, LOG_STD[:0], mask, ActionForm(ActionSpec(0, (4,))), np.random.default_rng(0))
    frequency = np.bincount(actions.discrete[:, 0], minlength=4) / rows
    np.testing.assert_allclose(frequency[:3], softmax(np.array([0.0, 1.0, -1.0])), atol=0.015)
    assert frequency[3] == 0


def test_gaussian_samples_have_the_mean_and_deviation() -> None:
    outputs = np.tile(np.array([0.5, -1.0], np.float32), (20000, 1))
    actions = choose_actions(outputs, LOG_STD, None, ActionForm(ActionSpec(2)), np.random.default_rng(0))
    assert actions.raw is not None
    np.testing.assert_allclose(actions.raw.mean(axis=0), [0.5, -1.0], atol=0.03)
    np.testing.assert_allclose(actions.raw.std(axis=0), np.exp(LOG_STD), rtol=0.02)
    np.testing.assert_array_equal(actions.continuous, np.clip(actions.raw, -1, 1))


def test_unbounded_actions_are_passed_through() -> None:
    outputs = np.array([[5.0, -7.0]], np.float32)
    actions = choose_actions(outputs, LOG_STD, None, ActionForm(ActionSpec(2, bounded=False)), None)
    assert actions.continuous.tolist() == [[5.0, -7.0]]


def test_the_most_likely_action_is_the_mean_and_the_best_legal_choice() -> None:
    spec = ActionSpec(1, (3, 2))
    outputs = np.array([[1.5, 9.0, 1.0, 2.0, 0.0, -1.0]], np.float32)
    mask = np.array([[False, True, True, True, True]])
    actions = choose_actions(outputs, LOG_STD[:1], mask, ActionForm(spec), None)
    assert actions.raw is not None
    assert actions.raw.tolist() == [[1.5]]
    assert actions.continuous.tolist() == [[1.0]]
    assert actions.discrete.tolist() == [[2, 0]]


def test_illegal_actions_are_never_taken_among_thousands() -> None:
    generator = np.random.default_rng(0)
    mask = np.zeros((64, 3000), np.bool_)
    for _ in range(20):
        mask[:] = generator.random(mask.shape) < 0.001
        mask[np.arange(64), generator.integers(0, 3000, 64)] = True
        logits = generator.normal(0, 30, mask.shape).astype(np.float32)
        for source in (generator, None):
            chosen = choose_actions(logits, LOG_STD[:0], mask, ActionForm(ActionSpec(0, (3000,))), source).discrete[
                :, 0
            ]
            assert mask[np.arange(64), chosen].all()


def test_a_mask_that_allows_nothing_is_refused() -> None:
    mask = np.array([[True, True, True, False], [True, False, False, False]])
    with pytest.raises(EnvironmentFailedError, match=r"nothing in branch 1 .* for 1 of 2 agents, first in row 1"):
        choose_actions(np.zeros((2, 4), np.float32), LOG_STD[:0], mask, ActionForm(ActionSpec(0, (2, 2))), None)


def test_nobody_acting_is_fine() -> None:
    actions = choose_actions(
        np.empty((0, 5), np.float32),
        LOG_STD,
        np.empty((0, 3), np.bool_),
        ActionForm(ActionSpec(2, (3,))),
        np.random.default_rng(0),
    )
    assert actions.continuous.shape == (0, 2)
    assert actions.discrete.shape == (0, 1)
