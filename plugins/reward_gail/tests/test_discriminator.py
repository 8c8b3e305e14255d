"""Loss, gradient penalty and bottleneck against independent float64 calculations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.demonstrations import random_demonstration
from agents_reward_gail.discriminator import LIMIT, Discriminator, cross_entropy
from gail_cases import agents_batch, make_signal

Doubles = np.ndarray[Any, np.dtype[np.float64]]


def discriminator(folder: Path, **options: Any) -> Discriminator:
    """With weights of a size that makes everything matter."""
    made = make_signal(
        folder, **{"network": {"hidden_units": 16, "num_layers": 2, "normalize": False}, **options}
    )._discriminator
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator))
    return made


def array(parameter: torch.Tensor) -> Doubles:
    return parameter.detach().double().numpy()


def by_hand(made: Discriminator, rows: Doubles, noise: Doubles | float = 0.0, nudge: Doubles | float = 0.0) -> Doubles:
    """Logits of rows [n, inputs] of a network of two tanh layers: float64[n]; `nudge` is added to its first weights."""
    score = features(made, rows, nudge)
    if made.bottleneck is not None:
        score = score @ array(made.bottleneck.weight).T + array(made.bottleneck.bias)
        score = score + noise * np.exp(array(made.log_std))
    return LIMIT * np.tanh((score @ array(made.score.weight)[0] + array(made.score.bias)[0]) / LIMIT)


def features(made: Discriminator, rows: Doubles, nudge: Doubles | float = 0.0) -> Doubles:
    first, second = made.body.linear_layers
    hidden = np.tanh(rows @ (array(first.weight) + nudge).T + array(first.bias))
    return np.tanh(hidden @ array(second.weight).T + array(second.bias))


def penalty_by_hand(made: Discriminator, between: Doubles, nudge: Doubles | float = 0.0) -> tuple[float, Doubles]:
    """The penalty, and the slopes float64[n, inputs], by central differences."""
    step, slopes = 1e-4, np.zeros_like(between)
    for column in range(between.shape[1]):
        there, back = between.copy(), between.copy()
        there[:, column] += step
        back[:, column] -= step
        slopes[:, column] = (by_hand(made, there, nudge=nudge) - by_hand(made, back, nudge=nudge)) / (2 * step)
    return float((np.maximum(np.sqrt((slopes**2).sum(axis=1) + 1e-7) - 1, 0) ** 2).mean()), slopes


def sides(rows: int = 6) -> tuple[Doubles, Doubles]:
    generator = np.random.default_rng(1)
    return generator.normal(size=(rows, 9)), generator.normal(0.5, 1.5, size=(rows, 9))


def split(rows: Doubles) -> tuple[torch.Tensor, ...]:
    """As the inputs of `SPEC` with actions: 2 and 3 numbers, and an action of 1 + 3."""
    return tuple(torch.from_numpy(part.astype(np.float32)) for part in np.split(rows, [2, 5], axis=1))


@pytest.mark.parametrize("use_vail", [False, True])
def test_logits_and_cross_entropy(tmp_path: Path, use_vail: bool) -> None:
    made = discriminator(tmp_path, use_actions=True, use_vail=use_vail)
    expert, policy = sides()
    judged = [made.judge(split(rows)).logits for rows in (expert, policy)]
    logits = [by_hand(made, rows) for rows in (expert, policy)]
    for found, expected in zip(judged, logits, strict=True):
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-4, atol=1e-5)
    probability = [1 / (1 + np.exp(-values)) for values in logits]
    expected = -np.log(probability[0]).mean() - np.log(1 - probability[1]).mean()
    assert cross_entropy(*judged).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("use_vail", [False, True])
def test_the_penalty_is_about_the_slope_in_all_observations_and_actions(tmp_path: Path, use_vail: bool) -> None:
    made = discriminator(tmp_path, use_actions=True, use_vail=use_vail)
    expert, policy = sides()
    mix = np.random.default_rng(2).random(6)
    expected, slopes = penalty_by_hand(made, mix[:, None] * expert + (1 - mix[:, None]) * policy)
    assert (np.abs(slopes).max(axis=0) > 1e-3).all()
    found = made.slope_penalty(split(expert), split(policy), torch.from_numpy(mix).float())
    assert found.item() == pytest.approx(expected, rel=1e-4)


def test_the_penalty_moves_the_weights_as_finite_differences_say(tmp_path: Path) -> None:
    made = discriminator(tmp_path, use_actions=True)
    expert, policy = sides()
    mix = np.random.default_rng(2).random(6)
    between = mix[:, None] * expert + (1 - mix[:, None]) * policy
    weight = made.body.linear_layers[0].weight
    penalty = made.slope_penalty(split(expert), split(policy), torch.from_numpy(mix).float())
    (gradient,) = torch.autograd.grad(penalty, [weight])
    for place in ((0, 0), (3, 4), (7, 8)):
        nudge = np.zeros(weight.shape)
        nudge[place] = 1e-4
        difference = penalty_by_hand(made, between, nudge)[0] - penalty_by_hand(made, between, -nudge)[0]
        assert gradient[place].item() == pytest.approx(difference / 2e-4, rel=1e-3)


def test_the_bottleneck_adds_noise_and_tells_how_much_it_holds(tmp_path: Path) -> None:
    made = discriminator(tmp_path, use_actions=True, use_vail=True)
    rows, _ = sides()
    mean = features(made, rows) @ array(made.bottleneck.weight).T + array(made.bottleneck.bias)
    std = np.exp(array(made.log_std))
    # KL of two Gaussians by its integral on a grid, dimension by dimension.
    grid = np.linspace(-60, 60, 24001)
    information = 0.0
    for row in mean:
        for mu, sigma in zip(row, std, strict=True):
            log_p = -0.5 * ((grid - mu) / sigma) ** 2 - np.log(sigma)
            log_q = -0.5 * grid**2
            information += (np.exp(log_p) * (log_p - log_q)).sum() * (grid[1] - grid[0]) / np.sqrt(2 * np.pi)
    judged = made.judge(split(rows))
    assert judged.information.item() == pytest.approx(information / len(rows), rel=1e-4)
    drawn = torch.randn((6, 128), generator=torch.Generator().manual_seed(9)).double().numpy()
    found = made.judge(split(rows), torch.Generator().manual_seed(9)).logits
    np.testing.assert_allclose(found.detach().numpy(), by_hand(made, rows, drawn), rtol=1e-4, atol=1e-4)


def test_without_use_actions_they_are_not_seen(tmp_path: Path) -> None:
    signal = make_signal(tmp_path)
    one, other = agents_batch(), agents_batch()
    other._fields["action.discrete"] = (other["action.discrete"] + 1) % 3
    assert torch.equal(signal._discriminator.logits(one), signal._discriminator.logits(other))
    seeing = make_signal(tmp_path, use_actions=True)
    assert not torch.equal(seeing._discriminator.logits(one), seeing._discriminator.logits(other))


def test_bytes_of_images_are_scaled_once_and_can_be_mixed(tmp_path: Path) -> None:
    spec = BehaviorSpec(
        (ObservationSpec("camera", (20, 20, 3), "uint8", "image"), ObservationSpec("seen", (2,))),
        ActionSpec(discrete_branches=(2,)),
    )
    demonstration = random_demonstration(spec, (4, 5))
    signal = make_signal(tmp_path, demonstration)
    inputs = signal._discriminator.inputs(signal._expert.sample(9))
    assert inputs[0].dtype == torch.float32
    assert 0.99 < inputs[0].max() <= 1
    mix = torch.rand(9)
    penalty = signal._discriminator.slope_penalty(inputs, tuple(part.flip(0) for part in inputs), mix)
    assert torch.isfinite(penalty)
