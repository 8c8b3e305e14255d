"""Random network distillation computes what its paper says."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.transitions import make_batch
from rnd_cases import SPEC, make_signal

Floats = npt.NDArray[np.float64]


class NumpyModel:
    """The same in float64, written from the paper, with the weights of a signal."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self.weights = {name: np.asarray(value, np.float64) for name, value in weights.items() if "extra" not in name}

    def linear(self, name: str, rows: Floats) -> Floats:
        return rows @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def error(self, seen: Floats) -> Floats:
        fixed = self.linear("target.1", np.maximum(self.linear("target.0.body.layers.0", seen), 0))
        hidden = np.maximum(self.linear("predictor.0.body.layers.0", seen), 0)
        for layer in ("predictor.1", "predictor.3"):
            hidden = np.maximum(self.linear(layer, hidden), 0)
        return ((self.linear("predictor.5", hidden) - fixed) ** 2).sum(axis=1)


def test_losses_and_rewards_agree_with_an_independent_calculation() -> None:
    signal = make_signal(normalize=False)
    before, batch = make_batch(SPEC, 50, seed=1), make_batch(SPEC)
    before["next_obs.0"].mul_(torch.tensor([100.0, 1.0, 0.01])).add_(torch.tensor([1000.0, 0.0, -3.0]))
    batch["next_obs.0"].mul_(torch.tensor([100.0, 10.0, 0.01])).add_(torch.tensor([1000.0, 0.0, -3.0]))
    signal.observe(before)
    signal.update(before)
    seen = before["next_obs.0"].double().numpy()
    whitened = np.clip((batch["next_obs.0"].double().numpy() - seen.mean(axis=0)) / seen.std(axis=0), -5, 5)
    assert np.abs(whitened).max() == 5
    expected = NumpyModel(signal.state_dict()["model"]).error(whitened)
    np.testing.assert_allclose(signal.evaluate(batch), expected, rtol=1e-4)
    assert signal.update(batch)["loss"] == pytest.approx(expected.mean(), rel=1e-5)


def test_the_gradient_is_that_of_the_mean_error_and_the_target_stays() -> None:
    signal = make_signal(normalize=False, network={"hidden_units": 8, "num_layers": 1, "normalize": False})
    before = {name: np.asarray(value, np.float64) for name, value in signal.state_dict()["model"].items()}
    batch = make_batch(SPEC)
    seen = batch["next_obs.0"].double().numpy()
    signal.update(batch)
    # After one step, Adam's mean is (1 - 0.9) · g.
    squared = float((signal.state_dict()["optimiser"]["mean"].double() / 0.1).square().sum())
    total = 0.0
    for name, value in before.items():
        for index in np.ndindex(value.shape if name.startswith("predictor") else (0,)):
            losses = []
            for change in (1e-5, -1e-5):
                weights = {**before, name: value.copy()}
                weights[name][index] += change
                losses.append(NumpyModel(weights).error(seen).mean())
            total += float((losses[0] - losses[1]) / 2e-5) ** 2
    assert squared == pytest.approx(total, rel=1e-3)
    after = signal.state_dict()["model"]
    for name, value in before.items():
        assert np.array_equal(np.asarray(after[name], np.float64), value) == name.startswith("target")


@pytest.mark.parametrize("crosses", [True, False])
def test_normalised_rewards_are_divided_by_the_deviation_of_their_return(crosses: bool) -> None:
    network = {"hidden_units": 8, "num_layers": 1, "normalize": False}
    signal = make_signal(gamma=0.9, ignores_termination=crosses, network=network)
    row = np.arange(32)
    batch = make_batch(SPEC, terminated=row == 20, truncated=row < 0, episode_id=row // 21)
    raw = make_signal(normalize=False, network=network).evaluate(batch)
    # Two batches: returns go on.
    signal.observe(batch.take(torch.arange(18)))
    signal.observe(batch.take(torch.arange(18, 32)))
    returns = [0.0]
    for place, reward in enumerate(raw.double().tolist()):
        returns.append(reward + 0.9 * (0 if place == 21 and not crosses else returns[-1]))
    np.testing.assert_allclose(signal.evaluate(batch), raw / np.float32(np.std(returns[1:])), rtol=1e-4)


def test_images_are_whitened_pixel_by_pixel_and_not_scaled_again() -> None:
    spec = BehaviorSpec((ObservationSpec("camera", (20, 20, 3), "uint8", "image"),), ActionSpec(2))
    signal = make_signal(spec, normalize=False)
    batch = make_batch(spec, 64)
    # A pixel that never changes tells nothing; the others are told apart however little they change.
    batch["next_obs.0"][:, 0, 0] = 200
    batch["next_obs.0"][:, 1:] = 100 + batch["next_obs.0"][:, 1:] % 2
    signal.observe(batch)
    seen = signal.state_dict()["model"]["normaliser._extra_state"][0]
    np.testing.assert_allclose(seen["mean"], batch["next_obs.0"].double().flatten(1).mean(dim=0), rtol=1e-9)
    rewards = signal.evaluate(batch)
    assert rewards.std() > 0.01 * rewards.mean()
    batch["next_obs.0"][:, 0, 0] = 17
    np.testing.assert_array_equal(signal.evaluate(batch), rewards)
