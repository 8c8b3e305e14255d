"""The gradients by hand are those of autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from agents_core.options import NetworkConfig
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.contexts import extrinsic_reward
from agents_sac.gradient import SoftGradient
from agents_sac.plain_gradient import PlainSoftGradient
from agents_sac.sampling import Sample
from agents_sac.trainer import SACTrainer
from sac_cases import ListBuffer, make_trainer, random_transitions

SEEN = (ObservationSpec("one", (5,)), ObservationSpec("two", (3,)))
ACTIONS = {
    "continuous": ActionSpec(3),
    "discrete": ActionSpec(0, (4,)),
    "branches": ActionSpec(0, (4, 2, 3)),
    "hybrid": ActionSpec(2, (3, 2)),
}


def a_sample(trainer: SACTrainer) -> Sample:
    assert trainer.buffer is not None
    return trainer._sampler.sample(trainer.buffer, trainer._strengths())


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("activation", ["relu", "tanh", "swish"])
@pytest.mark.parametrize("special", ["", "masked", "weighted", "signals", "normalize", "wide_std"])
def test_by_hand_as_by_autograd(action: str, activation: str, special: str) -> None:
    spec = BehaviorSpec(SEEN, ACTIONS[action])
    masked = special == "masked" and bool(spec.action.discrete_branches)
    signals = {"extrinsic": extrinsic_reward(spec)}
    if special == "signals":
        signals["second"] = extrinsic_reward(spec, gamma=0.5, strength=0.3)
    network = NetworkConfig(hidden_units=16, activation=activation, normalize=special == "normalize")
    trainer = make_trainer(
        spec, network, signals=signals, make_buffer=lambda _: ListBuffer(special == "weighted"), init_entcoef=0.7
    )
    networks, temperature = trainer._networks, trainer._temperature
    trainer.process(random_transitions(spec, 60, masked=masked), 60)
    with torch.no_grad():
        temperature.log_alpha.add_(torch.linspace(0, 1, len(temperature.log_alpha)))
        networks.actor.action_head.weight.mul_(30)  # away from equal probabilities
        if special == "wide_std" and spec.action.continuous_size:
            networks.actor.action_head.bias[spec.action.continuous_size] = 2.1
        networks.targets.flat.values.mul_(0.9)
    sample, alpha = a_sample(trainer), temperature.alpha()
    results = []
    for kind in (SoftGradient, PlainSoftGradient):
        gradient = kind(networks, temperature, np.random.default_rng(3))
        critic = gradient.critic(sample.minibatch, sample.views, alpha)
        by_critics = networks.critics.flat.gradient.clone()
        policy = gradient.policy(sample.minibatch, sample.views, alpha)
        by_actor = networks.actor.flat.gradient.clone()
        numbers = torch.tensor([critic.loss, critic.mean_q, policy.loss, policy.entropy])
        results.append((numbers, critic.errors, policy.mean_excess, by_critics, by_actor))
    assert results[0][3].abs().sum() > 0
    assert results[0][4].abs().sum() > 0
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=2e-4, atol=2e-6)


def test_plain_perceptrons_are_differentiated_by_hand() -> None:
    spec = BehaviorSpec(SEEN, ACTIONS["continuous"])
    assert type(make_trainer(spec)._gradient) is PlainSoftGradient
    image = BehaviorSpec((ObservationSpec("image", (20, 20, 1), "uint8", "image"),), ACTIONS["continuous"])
    assert type(make_trainer(image)._gradient) is SoftGradient
