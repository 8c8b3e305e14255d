"""The network of a policy and its values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from agents_core.columns import Array
from agents_core.contracts.encoder import ChosenEncoder
from agents_core.errors import UserError
from agents_core.networks.body import Body, build_normalisers
from agents_core.networks.distributions import ActionForm
from agents_core.networks.encoders.choice import check_choices
from agents_core.networks.encoders.vector import VectorEncoder
from agents_core.networks.flat import FlatParameters
from agents_core.networks.initialisation import Initialiser
from agents_core.networks.meaning import check_meaning, meaning_of
from agents_core.networks.memory import Memory
from agents_core.options import NetworkConfig
from agents_core.spec import BehaviorSpec

PLAIN_WIDTH = 512
"""Widest hidden layers for which operations cost more than their arithmetic; see `ActorCritic.is_plain`."""


class ActorCritic(nn.Module):
    """Actor and critic over one behavior's observations, with one value head for each reward signal.

    Attributes:
        spec: What the agents see and do.
        config: The `network:` section it was built from.
        form: What the actor's outputs are.
        actor_memory: The recurrent layer between the actor's body and its head, or None.
        critic_memory: The critic's; the same one where they share the body.
        normalisers: For each observation its running normaliser, or None.
        flat: Parameters and gradients as one tensor each.
    """

    def __init__(
        self,
        spec: BehaviorSpec,
        config: NetworkConfig,
        num_values: int,
        device: torch.device,
        generator: torch.Generator,
        encoders: Mapping[str, ChosenEncoder] | None = None,
        *,
        initial_std: float = 1.0,
    ) -> None:
        """Draw first weights from `generator`, the value heads last.

        Args:
            encoders: Chosen ones by observation name; others are the default of their observation.
            initial_std: Standard deviation that continuous actions start with.

        Raises:
            UserError: An observation cannot be encoded so, or unbounded actions are to be squashed.
        """
        super().__init__()
        encoders = encoders or {}
        check_choices(spec, encoders)
        self.spec = spec
        self.config = config
        self.form = _action_form(spec, config)
        self._meaning = meaning_of(spec, config, encoders)
        self.normalisers = build_normalisers(spec, config, device)
        make_body = partial(Body, spec, config, encoders, self.normalisers, generator)
        self.actor_body = make_body()
        self.critic_body = self.actor_body if config.shared else make_body()
        make_memory = partial(_build_memory, config, generator)
        self.actor_memory = make_memory(self.actor_body)
        self.critic_memory = self.actor_memory if config.shared else make_memory(self.critic_body)
        initialiser = Initialiser(config.initialization, generator)
        # A small gain starts the policy near zero mean and equal probabilities (Andrychowicz et al. 2021).
        self.action_head = initialiser.linear(
            (self.actor_memory or self.actor_body).output_size, self.form.outputs, gain=0.01
        )
        self.value_head = initialiser.linear((self.critic_memory or self.critic_body).output_size, num_values, gain=1.0)
        size, log_std = spec.action.continuous_size, math.log(initial_std)
        self.log_std = nn.Parameter(torch.full((0 if self.form.std_by_state else size,), log_std))
        if self.form.std_by_state:
            nn.init.constant_(self.action_head.bias[size : 2 * size], log_std)
        self.to(device)
        self.flat = FlatParameters(self, blocks=self._is_small_perceptron)

    @property
    def is_plain(self) -> bool:
        """Whether it is a small perceptron over vectors on the CPU whose gradient is computed by hand."""
        return self.acts_plainly and not self.form.std_by_state and not self.form.squash

    @property
    def acts_plainly(self) -> bool:
        """Whether it is a small perceptron over vectors on the CPU, which is computed by hand, see `plain_mlp`."""
        return self._is_small_perceptron and self.log_std.device.type == "cpu"

    @property
    def _is_small_perceptron(self) -> bool:
        # The same on every device, so that the optimiser's state may move between them: it is laid out as `flat` is.
        return (
            self.config.hidden_units <= PLAIN_WIDTH
            and all(isinstance(encoder, VectorEncoder) for encoder in self.actor_body.encoders)
            and self.actor_body.goal_layer is None
            and self.actor_memory is None
        )

    @property
    def memory_size(self) -> int:
        """Numbers in the actor's state of an agent; 0 without memory."""
        return 0 if self.actor_memory is None else self.actor_memory.state_size

    def act(self, observations: Sequence[Tensor]) -> Tensor:
        """Action outputs, float32[n, form.outputs], of a network without memory."""
        self._check_no_memory()
        outputs: Tensor = self.action_head(self.actor_body(observations))
        return outputs

    def value(self, observations: Sequence[Tensor]) -> Tensor:
        """Values, float32[n, signals], of a network without memory."""
        self._check_no_memory()
        values: Tensor = self.value_head(self.critic_body(observations))
        return values

    def forward(self, observations: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Action outputs and values of a network without memory; a shared body runs once."""
        self._check_no_memory()
        hidden = self.actor_body(observations)
        critic_hidden = hidden if self.critic_body is self.actor_body else self.critic_body(observations)
        return self.action_head(hidden), self.value_head(critic_hidden)

    def _check_no_memory(self) -> None:
        # Where layers have equal widths, passing the memory by would go unnoticed.
        if self.actor_memory is not None:
            raise RuntimeError("a network with memory is run through `actor_memory` and `critic_memory`, with a state")

    def observe(self, observations: Sequence[Array]) -> None:
        """Let the normalisers take in observations, one array [n, *shape] each."""
        for normaliser, observation in zip(self.normalisers, observations, strict=True):
            if normaliser is not None:
                normaliser.update(observation.reshape(len(observation), -1))

    def actor_state(self) -> dict[str, Any]:
        """What acting needs: the actor's weights, the normalisers, and the options that they go with."""
        normalisers = {
            observation.name: normaliser.state_dict()
            for observation, normaliser in zip(self.spec.observations, self.normalisers, strict=True)
            if normaliser is not None
        }
        return {"weights": self._weights(of_actor=True), "normalisers": normalisers, "network": dict(self._meaning)}

    def load_actor_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `actor_state` gave.

        Raises:
            UserError: It belongs to another network.
        """
        check_meaning(state["network"], self._meaning)
        self._load_weights(state["weights"], of_actor=True)
        for observation, normaliser in zip(self.spec.observations, self.normalisers, strict=True):
            if normaliser is not None:
                normaliser.load_state_dict(state["normalisers"][observation.name])

    def critic_state(self) -> dict[str, Any]:
        """The weights that acting does not need."""
        return {"weights": self._weights(of_actor=False)}

    def load_critic_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `critic_state` gave.

        Raises:
            UserError: It belongs to another network.
        """
        self._load_weights(state["weights"], of_actor=False)

    def _parameters_of(self, of_actor: bool) -> dict[str, nn.Parameter]:
        critic = ("critic_body.", "critic_memory.", "value_head.")
        return {name: tensor for name, tensor in self.named_parameters() if name.startswith(critic) != of_actor}

    def _weights(self, of_actor: bool) -> dict[str, Tensor]:
        return {name: tensor.detach().clone().contiguous() for name, tensor in self._parameters_of(of_actor).items()}

    @torch.no_grad()
    def _load_weights(self, weights: Mapping[str, Any], of_actor: bool) -> None:
        parameters = self._parameters_of(of_actor)
        found = {name: tuple(weight.shape) for name, weight in weights.items()}
        expected = {name: tuple(parameter.shape) for name, parameter in parameters.items()}
        if found != expected:
            name = next(name for name in [*expected, *found] if found.get(name) != expected.get(name))
            raise UserError(
                f"the saved weights belong to another network: {name!r} has shape {found.get(name, 'none')} there and "
                f"{expected.get(name, 'none')} here. Use the `network:` section and the environment they were made with"
            )
        for name, parameter in parameters.items():
            parameter.copy_(torch.as_tensor(weights[name]))


def _action_form(spec: BehaviorSpec, config: NetworkConfig) -> ActionForm:
    if config.squash and spec.action.continuous_size and not spec.action.bounded:
        raise UserError(
            "network.squash: true brings actions into [-1, 1], but this behavior's continuous actions have no bounds. "
            "Set `squash: false`, or give the environment a bounded action space"
        )
    return ActionForm(spec.action, config.std == "state", config.squash)


def _build_memory(config: NetworkConfig, generator: torch.Generator, body: Body) -> Memory | None:
    return None if config.memory is None else Memory(config.memory, body.output_size, generator)
