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
        layers: Of each layer the twins' weights [twins, out, in + 1], the bias in the last column.
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
        inputs = (width if self.memory is None else self.memory.output_size) + spec.action.continuous_size
        widths = [inputs] + [config.hidden_units] * config.num_layers + [num_signals * self.choices]
        initialiser = Initialiser(config.initialization, generator)
        self.layers = nn.ParameterList(
            _twin_layers(initialiser, *sizes, is_last=layer == config.num_layers)
            for layer, sizes in enumerate(pairwise(widths))
        )
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
        # The first layer sees the same inputs for both twins: one product with both weights, one below the other.
        first = self.layers[0]
        width = first.shape[1]
        both = torch.addmm(first[:, :, -1].reshape(-1), inputs, first[:, :, :-1].reshape(TWINS * width, -1).t())
        hidden = both.view(len(inputs), TWINS, width).transpose(0, 1)
        for weights in list(self.layers)[1:]:
            hidden = self._activation(hidden)
            hidden = torch.baddbmm(weights[:, None, :, -1], hidden, weights[:, :, :-1].transpose(1, 2))
        return hidden.reshape(TWINS, len(inputs), self.num_signals, self.choices)

    def forward(self, observations: Sequence[Tensor], continuous: Tensor) -> Tensor:
        """As `q`, of critics without memory."""
        return self.q(self.encode(observations), continuous)


def _twin_layers(initialiser: Initialiser, inputs: int, outputs: int, *, is_last: bool) -> nn.Parameter:
    layers = [
        initialiser.linear(inputs, outputs, gain=1.0) if is_last else initialiser.linear(inputs, outputs)
        for _ in range(TWINS)
    ]
    blocks = [torch.cat([layer.weight, layer.bias[:, None]], dim=1) for layer in layers]
    return nn.Parameter(torch.stack(blocks).detach())
