"""Twin Q functions, evaluated as one batched network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from agents_core.contracts.encoder import ChosenEncoder
from agents_core.networks.body import ACTIVATIONS
from agents_core.networks.encoders.choice import build_encoder, width_of
from agents_core.networks.encoders.vector import VectorEncoder
from agents_core.networks.flat import FlatParameters
from agents_core.networks.initialisation import Initialiser
from agents_core.networks.memory import Memory
from agents_core.networks.normaliser import RunningNormaliser
from agents_core.options import NetworkConfig
from agents_core.spec import BehaviorSpec
from torch import Tensor, nn

TWINS = 2
"""Q functions whose smaller value counts (Fujimoto et al. 2018)."""


class Critics(nn.Module):
    """Q functions over observations and continuous actions, with values for each reward signal and discrete choice.

    Observations are encoded once for both twins: encoders, and the recurrent layer where there is one, are shared
    between them, but not with the actor nor the target. What follows is the twins' own, a stack of weights each.

    Discrete branches add up: Q(s, a) is the sum of one output for each branch's choice, so that its mean over a
    policy whose branches are independent is exact.

    Attributes:
        memory: The recurrent layer behind the encoders, or None.
        recall: Turns the actor's state before a sequence into the critics' own [state, state]; zero stays zero.
        weights, biases: Of each layer the twins' weights [twins, out, in] and biases [twins, out].
        flat: Parameters and gradients as one tensor each.
    """

    def __init__(
        self,
        spec: BehaviorSpec,
        config: NetworkConfig,
        num_signals: int,
        normalisers: Sequence[RunningNormaliser | None],
        device: torch.device,
        generator: torch.Generator,
        encoders: Mapping[str, ChosenEncoder],
    ) -> None:
        super().__init__()
        self.spec = spec
        self.config = config
        self.normalisers = tuple(normalisers)
        self.num_signals = num_signals
        self.choices = max(spec.action.mask_size, 1)
        self.encoders = nn.ModuleList(
            build_encoder(observation, encoders.get(observation.name), config, generator)
            for observation in spec.observations
        )
        width = sum(width_of(encoder) for encoder in self.encoders)
        self.memory = None if config.memory is None else Memory(config.memory, width, generator)
        state_size = 0 if self.memory is None else self.memory.state_size
        self.recall = nn.Parameter(torch.zeros(state_size, state_size))
        inputs = (width if self.memory is None else self.memory.output_size) + spec.action.continuous_size
        widths = [inputs] + [config.hidden_units] * config.num_layers + [num_signals * self.choices]
        initialiser = Initialiser(config.initialization, generator)
        stacks = [
            _twin_layers(initialiser, *sizes, is_last=layer == config.num_layers)
            for layer, sizes in enumerate(pairwise(widths))
        ]
        self.weights = nn.ParameterList(weights for weights, _ in stacks)
        self.biases = nn.ParameterList(biases for _, biases in stacks)
        self._activation = ACTIVATIONS[config.activation]
        self.to(device)
        self.flat = FlatParameters(self)

    @property
    def is_plain(self) -> bool:
        """Whether observations are vectors that go straight into the twins' layers."""
        return self.memory is None and all(isinstance(encoder, VectorEncoder) for encoder in self.encoders)

    def encode(self, observations: Sequence[Tensor]) -> Tensor:
        """What the twins share of observations: float32[n, width], before the recurrent layer."""
        codes = []
        for encoder, observation, normaliser in zip(self.encoders, observations, self.normalisers, strict=True):
            if normaliser is not None:
                observation = normaliser.normalise(observation.flatten(1)).view(observation.shape)
            codes.append(encoder(observation))
        return codes[0] if len(codes) == 1 else torch.cat(codes, dim=1)

    def q(self, code: Tensor, continuous: Tensor) -> Tensor:
        """Q of what was encoded and of continuous actions, for every discrete choice.

        Args:
            code: float32[n, width], of `encode`, or of the recurrent layer behind it.
            continuous: float32[n, continuous].

        Returns:
            float32[twins, n, signals, choices]; one choice where there is no discrete branch.
        """
        inputs = torch.cat([code, continuous], dim=1) if continuous.shape[1] else code
        first, *others = zip(self.weights, self.biases, strict=True)
        # The first layer sees the same inputs for both twins: one product with both weights, one below the other.
        both = torch.addmm(first[1].flatten(), inputs, first[0].flatten(0, 1).t())
        hidden = both.view(len(inputs), TWINS, -1).transpose(0, 1)
        for weights, biases in others:
            hidden = torch.baddbmm(biases[:, None], self._activation(hidden), weights.transpose(1, 2))
        return hidden.reshape(TWINS, len(inputs), self.num_signals, self.choices)

    def forward(self, observations: Sequence[Tensor], continuous: Tensor) -> Tensor:
        """As `q`, of critics without memory."""
        return self.q(self.encode(observations), continuous)


def _twin_layers(
    initialiser: Initialiser, inputs: int, outputs: int, *, is_last: bool
) -> tuple[nn.Parameter, nn.Parameter]:
    layers = [
        initialiser.linear(inputs, outputs, gain=1.0) if is_last else initialiser.linear(inputs, outputs)
        for _ in range(TWINS)
    ]
    weights = torch.stack([layer.weight.detach() for layer in layers])
    return nn.Parameter(weights), nn.Parameter(torch.stack([layer.bias.detach() for layer in layers]))
