"""From observations to one vector: an encoder for each observation, joined and followed by hidden layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from agents_core.contracts.encoder import ChosenEncoder
from agents_core.errors import UserError
from agents_core.networks.encoders.choice import build_encoder, width_of
from agents_core.networks.goal_layer import GoalLayer
from agents_core.networks.initialisation import Initialiser
from agents_core.networks.normaliser import RunningNormaliser
from agents_core.options import BodyConfig
from agents_core.spec import BehaviorSpec

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "swish": nn.functional.silu,
}


def build_normalisers(
    spec: BehaviorSpec, config: BodyConfig, device: torch.device
) -> tuple[RunningNormaliser | None, ...]:
    """For each observation its normaliser, or None where it has none: `normalize` is about vectors only."""
    return tuple(
        RunningNormaliser(observation.size, device) if config.normalize and observation.kind == "vector" else None
        for observation in spec.observations
    )


class Body(nn.Module):
    """Encodes every observation, joins the codes and applies the hidden layers.

    With `conditioning: hyper` the codes of goals are not joined with the others: they make the weights of the last
    hidden layer.

    Args:
        spec: What is observed.
        config: Sizes and methods.
        encoders: Chosen ones by observation name; others are the default of their observation.
        normalisers: For each observation its normaliser, or None.
        generator: Source of the first weights.

    Attributes:
        output_size: Width of what `forward` returns.

    Raises:
        UserError: An observation cannot be encoded so, or goals are to make weights and there are none.
    """

    def __init__(
        self,
        spec: BehaviorSpec,
        config: BodyConfig,
        encoders: Mapping[str, ChosenEncoder],
        normalisers: Sequence[RunningNormaliser | None],
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        initialiser = Initialiser(config.initialization, generator)
        self._normalisers = tuple(normalisers)
        self.encoders = nn.ModuleList(
            build_encoder(observation, encoders.get(observation.name), config, generator)
            for observation in spec.observations
        )
        self._is_goal = [config.conditioning == "hyper" and part.kind == "goal" for part in spec.observations]
        if config.conditioning == "hyper":
            _check_goals(spec)
        goals, joined = self._widths(is_goal=True), self._widths(is_goal=False)
        widths = [joined] + [config.hidden_units] * (config.num_layers - (1 if goals else 0))
        self.linear_layers = [initialiser.linear(inputs, outputs) for inputs, outputs in pairwise(widths)]
        self.layers = nn.ModuleList(self.linear_layers)
        self.output_size = config.hidden_units
        self.goal_layer = GoalLayer(widths[-1], self.output_size, goals, initialiser) if goals else None
        self._activation = ACTIVATIONS[config.activation]

    def forward(self, observations: Sequence[Tensor]) -> Tensor:
        """float32[n, output_size] of one tensor [n, *shape] for each observation."""
        codes = [
            encoder(observation if normaliser is None else _normalised(observation, normaliser))
            for encoder, observation, normaliser in zip(self.encoders, observations, self._normalisers, strict=True)
        ]
        hidden = _join(code for code, is_goal in zip(codes, self._is_goal, strict=True) if not is_goal)
        for layer in self.linear_layers:
            hidden = self._activation(layer(hidden))
        if self.goal_layer is not None:
            goal = _join(code for code, is_goal in zip(codes, self._is_goal, strict=True) if is_goal)
            hidden = self._activation(self.goal_layer(hidden, goal))
        return hidden

    def _widths(self, is_goal: bool) -> int:
        """Width of the codes of goals that make weights, or of all others, side by side."""
        return sum(width_of(part) for part, own in zip(self.encoders, self._is_goal, strict=True) if own == is_goal)


def _check_goals(spec: BehaviorSpec) -> None:
    kinds = {observation.kind for observation in spec.observations}
    if kinds > {"goal"}:
        return
    missing = "observation of kind 'goal'" if "goal" not in kinds else "observation beside its goals"
    found = ", ".join(f"{observation.name!r} ({observation.kind})" for observation in spec.observations)
    raise UserError(
        f"network.conditioning: hyper lets goals make the weights that are applied to other observations, but the "
        f"behavior has no {missing}; it has {found}. Set `conditioning: concat`, or give it one in the environment"
    )


def _join(codes: Iterable[Tensor]) -> Tensor:
    parts = list(codes)
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def _normalised(observation: Tensor, normaliser: RunningNormaliser) -> Tensor:
    return normaliser.normalise(observation.flatten(1)).view(observation.shape)
