"""Losses against float64 NumPy that is written down from the papers, on random weights."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from agents_core.options import NetworkConfig
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.contexts import extrinsic_reward
from agents_sac.actions import Drawn, choices_taken
from agents_sac.gradient import SoftGradient
from agents_sac.losses import entropy_excess, expected_q, soft_value, taken_q
from agents_sac.temperature import Temperature
from agents_sac.trainer import SACTrainer
from sac_cases import make_trainer, random_transitions

Doubles = np.ndarray[Any, np.dtype[np.float64]]
SEEN = (ObservationSpec("one", (4,)),)


def perceptron(layers: list[tuple[Doubles, Doubles]], rows: Doubles) -> Doubles:
    for number, (weights, bias) in enumerate(layers):
        rows = rows @ weights.T + bias
        if number < len(layers) - 1:
            rows = np.maximum(rows, 0)
    return rows


def twin(critics: Any, which: int, seen: Doubles, done: Doubles) -> Doubles:
    layers = [
        (weights[which].detach().double().numpy(), biases[which].detach().double().numpy())
        for weights, biases in zip(critics.weights, critics.biases, strict=True)
    ]
    return perceptron(layers, np.concatenate([seen, done], axis=1))


def actor(trainer: SACTrainer, seen: Doubles) -> Doubles:
    network = trainer._networks.actor
    modules = [*network.actor_body.linear_layers, network.action_head]
    layers = [(m.weight.detach().double().numpy(), m.bias.detach().double().numpy()) for m in modules]
    return perceptron(layers, seen)


def squashed(outputs: Doubles, noise: Doubles, size: int) -> tuple[Doubles, Doubles]:
    """Actions and their log-density, by the plain formula."""
    mean, log_std = outputs[:, :size], np.clip(outputs[:, size : 2 * size], -20, 2)
    raw = mean + np.exp(log_std) * noise
    density = -0.5 * noise**2 - log_std - 0.5 * np.log(2 * np.pi)
    return np.tanh(raw), (density - np.log(1 - np.tanh(raw) ** 2)).sum(axis=1)


def table(trainer: SACTrainer) -> tuple[Mapping[str, Doubles], Any]:
    assert trainer.buffer is not None
    sample = trainer._sampler.sample(trainer.buffer, trainer._strengths())
    names = ("obs.0", "next_obs.0", "action.continuous", "reward", "terminated")
    return {name: sample.minibatch.batch[name].double().numpy() for name in names}, sample


@pytest.mark.parametrize("ignores", [False, True])
def test_continuous_losses_equal_a_float64_calculation(ignores: bool) -> None:
    spec = BehaviorSpec(SEEN, ActionSpec(2))
    signals = {
        "extrinsic": extrinsic_reward(spec, gamma=0.9),
        "second": extrinsic_reward(spec, gamma=0.5, strength=0.3),
    }
    signals["second"].ignores_termination = ignores
    trainer = make_trainer(spec, NetworkConfig(hidden_units=16, activation="relu"), signals=signals, init_entcoef=0.4)
    trainer.process(random_transitions(spec, 60), 60)
    with torch.no_grad():
        trainer._networks.actor.action_head.weight.mul_(30)
        trainer._networks.targets.flat.values.mul_(0.8)
    rows, sample = table(trainer)
    first, second = np.random.default_rng(7).standard_normal((2, 32, 2), np.float32)
    gradient = SoftGradient(trainer._networks, trainer._temperature, np.random.default_rng(7))
    alpha = trainer._temperature.alpha()
    critic = gradient.critic(sample.minibatch, sample.views, alpha)
    policy = gradient.policy(sample.minibatch, sample.views, alpha)

    next_action, next_log_prob = squashed(actor(trainer, rows["next_obs.0"]), first.astype(np.float64), 2)
    smaller = np.minimum(*(twin(trainer._networks.targets, t, rows["next_obs.0"], next_action) for t in (0, 1)))
    value = smaller - 0.4 * next_log_prob[:, None] / 2
    going_on = np.stack([1 - rows["terminated"], np.ones(32) if ignores else 1 - rows["terminated"]], axis=1)
    rewards = rows["reward"][:, None] * [1.0, 0.3]
    target = rewards + np.array([0.9, 0.5]) * going_on * value
    errors = [twin(trainer._networks.critics, t, rows["obs.0"], rows["action.continuous"]) - target for t in (0, 1)]
    assert critic.loss == pytest.approx(sum(0.5 * np.mean(error**2) for error in errors), rel=1e-5)
    np.testing.assert_allclose(critic.errors, np.abs(errors).mean(axis=0).sum(axis=1), rtol=1e-4, atol=1e-6)

    action, log_prob = squashed(actor(trainer, rows["obs.0"]), second.astype(np.float64), 2)
    totals = [twin(trainer._networks.critics, t, rows["obs.0"], action).sum(axis=1) for t in (0, 1)]
    assert policy.loss == pytest.approx(np.mean(0.4 * log_prob - np.minimum(*totals)), rel=1e-5)
    assert policy.entropy == pytest.approx(-log_prob.mean(), rel=1e-5)
    np.testing.assert_allclose(policy.mean_excess, [-log_prob.mean() + 2], rtol=1e-5)


@pytest.mark.parametrize("sizes", [(3,), (3, 2, 4)])
def test_discrete_values_equal_an_enumeration_of_all_joint_actions(sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng(1)
    rows, choices = 5, sum(sizes)
    q = random.normal(size=(2, rows, 1, choices))
    probs = np.concatenate([random.dirichlet(np.ones(size), rows) for size in sizes], axis=1)
    alpha = random.uniform(0.1, 1, len(sizes))
    starts = np.cumsum((0, *sizes))
    expected = np.zeros((2, rows))
    for joint in itertools.product(*(range(size) for size in sizes)):
        columns = [start + choice for start, choice in zip(starts, joint, strict=False)]
        probability = probs[:, columns].prod(axis=1)
        bonus = sum(a * -np.log(probs[:, column]) for a, column in zip(alpha, columns, strict=True))
        expected += probability * (q[:, :, 0][:, :, columns].sum(axis=2) + bonus)
    entropies = np.stack(
        [-(part * np.log(part)).sum(axis=1) for part in (probs[:, a:b] for a, b in itertools.pairwise(starts))],
        axis=1,
    )
    drawn = Drawn(torch.empty(rows, 0), None, torch.tensor(probs), torch.tensor(entropies))
    found = soft_value(torch.tensor(q), drawn, torch.tensor(alpha))
    np.testing.assert_allclose(found[:, 0], expected.min(axis=0), rtol=1e-10)

    discrete = np.stack([random.integers(size, size=rows) for size in sizes], axis=1)
    taken = taken_q(torch.tensor(q), choices_taken(torch.tensor(discrete), sizes))
    by_hand = sum(q[:, np.arange(rows), 0, start + discrete[:, b]] for b, start in enumerate(starts[:-1]))
    np.testing.assert_allclose(taken[:, :, 0], by_hand, rtol=1e-12)


def test_a_hybrid_value_takes_the_smaller_mean_over_choices_at_the_continuous_action_and_both_entropies() -> None:
    q = torch.tensor([[[[1.0, 5.0]]], [[[3.0, 2.0]]]])  # twins, one row, one signal, two choices
    drawn = Drawn(torch.zeros(1, 1), torch.tensor([0.7]), torch.tensor([[0.25, 0.75]]), torch.tensor([[0.5]]))
    assert expected_q(q, drawn).item() == pytest.approx(0.25 * 3 + 0.75 * 2)  # The other twin's is 4.
    value = soft_value(q, drawn, torch.tensor([0.1, 0.2]))
    assert value.item() == pytest.approx(2.25 - 0.1 * 0.7 + 0.2 * 0.5)


@pytest.mark.parametrize("action", [ActionSpec(2), ActionSpec(0, (3, 4)), ActionSpec(1, (3,))])
def test_the_temperatures_gradient_equals_finite_differences_of_its_loss(action: ActionSpec) -> None:
    trainer = make_trainer(BehaviorSpec(SEEN, action), init_entcoef=0.3)
    random = np.random.default_rng(2)
    log_prob = torch.tensor(random.normal(size=6)) if action.continuous_size else None
    branches = len(action.discrete_branches)
    drawn = Drawn(torch.empty(6, 0), log_prob, None, torch.tensor(random.uniform(size=(6, branches))))
    targets = trainer._temperature.targets(None).double()

    def loss(log_alpha: Doubles) -> float:
        minus_log_pi = [] if log_prob is None else [-log_prob.numpy()]
        entropies = [*minus_log_pi, *drawn.entropies.numpy().T]
        return float(sum(np.mean(a * (h - t)) for a, h, t in zip(log_alpha, entropies, targets.numpy(), strict=True)))

    at, step = np.log(np.full(len(targets), 0.3)), 1e-6
    differences = [(loss(at + step * axis) - loss(at - step * axis)) / (2 * step) for axis in np.eye(len(targets))]
    np.testing.assert_allclose(entropy_excess(drawn, targets).mean(dim=0), differences, rtol=1e-6, atol=1e-9)


def test_temperature_falls_with_too_much_entropy_and_rises_with_too_little() -> None:
    trainer = make_trainer(BehaviorSpec(SEEN, ActionSpec(0, (3, 4))))
    temperature = trainer._temperature
    temperature.step(torch.tensor([0.5, -0.5]), 0.01)
    # Adam's first step has the size of the learning rate.
    np.testing.assert_allclose(temperature.log_alpha.detach(), [-0.01, 0.01], rtol=1e-4)


def test_targets_are_those_that_the_options_say() -> None:
    action = ActionSpec(3, (4, 2))
    options = make_trainer(BehaviorSpec(SEEN, action))._config
    temperature = Temperature(action, options, torch.device("cpu"))
    expected = [-3, 0.5 * np.log(4), 0.5 * np.log(2)]
    np.testing.assert_allclose(temperature.targets(None), expected, rtol=1e-6)
    mask = torch.tensor([[True, True, False, False, True, False]])
    np.testing.assert_allclose(temperature.targets(mask), [[-3, 0.5 * np.log(2), 0]], rtol=1e-6)
    given = Temperature(action, options.model_copy(update={"target_entropy": 1.5}), torch.device("cpu"))
    assert given.targets(None)[0].item() == 1.5
