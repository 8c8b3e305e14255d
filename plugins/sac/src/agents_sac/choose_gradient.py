"""Which way of computing gradients fits the networks."""

from __future__ import annotations

import numpy as np

from agents_sac.gradient import SoftGradient
from agents_sac.networks import SoftActorCritic
from agents_sac.plain_gradient import PlainSoftGradient
from agents_sac.temperature import Temperature


def choose_gradient(
    networks: SoftActorCritic, temperature: Temperature, generator: np.random.Generator
) -> SoftGradient:
    """By hand for plain perceptrons on the CPU, by autograd for all others."""
    is_plain = networks.actor.acts_plainly and networks.critics.is_plain
    return (PlainSoftGradient if is_plain else SoftGradient)(networks, temperature, generator)
