"""The Intrinsic Curiosity Module computes what its paper says."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from agents_core.columns import Batch
from agents_core.spec import ActionSpec, BehaviorSpec
from agents_core.testing.transitions import make_batch
from curiosity_cases import PLACE, SPEC, make_signal

Floats = npt.NDArray[np.float64]


class NumpyModel:
    """The same in float64, written from the paper, with the weights of a signal."""

    def __init__(self, weights: dict[str, Any], spec: BehaviorSpec) -> None:
        self.weights = {name: np.asarray(value, np.float64) for name, value in weights.items()}
        self.action = spec.action

    def linear(self, name: str, rows: Floats) -> Floats:
        return rows @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def perceptron(self, name: str, rows: Floats) -> Floats:
        hidden = self.linear(f"{name}.0", rows)
        return self.linear(f"{name}.2", hidden / (1 + np.exp(-hidden)))

    def encode(self, observation: torch.Tensor) -> Floats:
        return np.tanh(self.linear("encoder.body.layers.0", observation.numpy().astype(np.float64)))

    def flat(self, batch: Batch) -> Floats:
        parts = [batch["action.continuous"].numpy().astype(np.float64)]
        for branch, size in enumerate(self.action.discrete_branches):
            parts.append(np.eye(size)[batch["action.discrete"][:, branch].numpy()])
        return np.concatenate(parts, axis=1)

    def surprise(self, batch: Batch) -> Floats:
        before, after = self.encode(batch["obs.0"]), self.encode(batch["next_obs.0"])
        foretold = self.perceptron("forward_model", np.concatenate([before, self.flat(batch)], axis=1))
        return ((after - foretold) ** 2).sum(axis=1) / 2

    def inverse_loss(self, batch: Batch) -> float:
        before, after = self.encode(batch["obs.0"]), self.encode(batch["next_obs.0"])
        guessed = self.perceptron("inverse_model", np.concatenate([before, after], axis=1))
        size = self.action.continuous_size
        error = ((batch["action.continuous"].numpy() - guessed[:, :size]) ** 2).sum(axis=1)
        for branch, choices in enumerate(self.action.discrete_branches):
            logits = guessed[:, size : size + choices]
            size += choices
            probability = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
            chosen = batch["action.discrete"][:, branch].numpy()
            error = error - np.log(probability[np.arange(len(batch)), chosen])
        return float(error.mean())


@pytest.mark.parametrize(
    "action",
    [ActionSpec(2), ActionSpec(discrete_branches=(3,)), ActionSpec(discrete_branches=(3, 2)), ActionSpec(2, (3, 2))],
    ids=["continuous", "discrete", "branches", "hybrid"],
)
def test_losses_and_rewards_agree_with_an_independent_calculation(action: ActionSpec) -> None:
    spec = BehaviorSpec((PLACE,), action)
    signal = make_signal(spec, strength=0.01)
    batch = make_batch(spec)
    signal.update(make_batch(spec, seed=1))
    expected = NumpyModel(signal.state_dict()["model"], spec)
    np.testing.assert_allclose(signal.evaluate(batch).numpy(), expected.surprise(batch), rtol=1e-4)
    stats = signal.update(batch)
    assert stats["forward_loss"] == pytest.approx(expected.surprise(batch).mean(), rel=1e-5)
    assert stats["inverse_loss"] == pytest.approx(expected.inverse_loss(batch), rel=1e-5)


def test_the_gradient_is_that_of_the_weighted_sum() -> None:
    signal = make_signal()
    before = {name: np.asarray(value, np.float64) for name, value in signal.state_dict()["model"].items()}
    batch = make_batch(SPEC)
    signal.update(batch)
    # After one step, Adam's mean is (1 - 0.9) · g.
    squared = float((signal.state_dict()["optimiser"]["mean"].double() / 0.1).square().sum())
    total = 0.0
    for name, value in before.items():
        for index in np.ndindex(value.shape):
            losses = []
            for change in (1e-5, -1e-5):
                weights = {**before, name: value.copy()}
                weights[name][index] += change
                model = NumpyModel(weights, SPEC)
                losses.append(10 * (0.2 * model.surprise(batch).mean() + 0.8 * model.inverse_loss(batch)))
            total += float((losses[0] - losses[1]) / 2e-5) ** 2
    assert squared == pytest.approx(total, rel=1e-3)
