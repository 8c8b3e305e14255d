"""Which way of computing losses and gradients fits a network."""

from __future__ import annotations

from agents_core.learning.gradient import AutogradGradient, LossGradient
from agents_core.learning.plain_gradient import PlainGradient
from agents_core.learning.sequence_gradient import SequenceGradient
from agents_core.networks.actor_critic import ActorCritic


def choose_gradient(network: ActorCritic) -> LossGradient:
    """By hand for plain perceptrons, in sequences for networks with memory, by autograd for all others."""
    if network.is_plain:
        return PlainGradient(network)
    memory, actor_memory, critic_memory = network.config.memory, network.actor_memory, network.critic_memory
    if memory is None or actor_memory is None or critic_memory is None:
        return AutogradGradient(network)
    return SequenceGradient(network, memory, actor_memory, critic_memory)
