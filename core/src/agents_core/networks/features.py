"""What a reward signal, or any part with a network of its own, builds that network from.

`FeatureNetwork` turns the observations of a batch into features, whatever they are: vectors, images, entities, goals,
one or several. Put further layers behind it; make them by `agents_core.networks.initialisation.Initialiser`.

    class Discriminator(nn.Module):
        def __init__(self, context):
            super().__init__()
            config, generator = context.config.network, torch_generator(context.seed)
            self.features = FeatureNetwork(context.spec, config, context.device, generator, context.encoders)
            self.score = Initialiser(config.initialization, generator).linear(self.features.output_size, 1)
            self.to(context.device)

        def forward(self, batch):
            return self.score(self.features(batch.observations))[:, 0]

Where the network's `normalize` is true, call `features.observe(batch.observations)` once for each new transition, as in
a signal's own `observe`. `module_state` gives the normalisers too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from agents_core.columns import Batch
from agents_core.contracts.encoder import ChosenEncoder
from agents_core.networks.body import Body
from agents_core.networks.encoders.choice import check_choices, default_encoder
from agents_core.networks.encoders.config import ImageConfig
from agents_core.networks.normaliser import RunningNormaliser
from agents_core.options import BodyConfig
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationKind

VECTORS: tuple[ObservationKind, ...] = ("vector",)
"""What networks normalise by default."""

_NUMBERS = 2**20
"""Numbers of an observation that are taken in at once; sums are float64, larger than most observations."""


class ObservationNormaliser(nn.Module):
    """Brings each component of some observations to mean 0 and deviation 1 over all that it took in, clipped to ±5.

    Args:
        spec: What is observed.
        device: Where observations are.
        kinds: Which kinds of observation; the others pass through.

    Attributes:
        spec: What `forward` returns: as the given one, with float32 where something is normalised.
    """

    def __init__(self, spec: BehaviorSpec, device: torch.device, kinds: Collection[ObservationKind] = VECTORS) -> None:
        super().__init__()
        self._raw = spec
        self._normalisers = tuple(
            RunningNormaliser(observation.size, device) if observation.kind in kinds else None
            for observation in spec.observations
        )
        self.spec = replace(
            spec,
            observations=tuple(
                observation if normaliser is None else replace(observation, dtype="float32")
                for observation, normaliser in zip(spec.observations, self._normalisers, strict=True)
            ),
        )

    @torch.no_grad()
    def observe(self, observations: Sequence[Tensor]) -> None:
        """Take in observations, one tensor [n, *shape] each."""
        for normaliser, observation in zip(self._normalisers, observations, strict=True):
            if normaliser is not None:
                rows = observation.flatten(1)
                size = max(1, _NUMBERS // max(1, rows.shape[1]))
                for start in range(0, len(rows), size):
                    normaliser.update(rows[start : start + size].cpu().numpy())

    def forward(self, observations: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The observations [n, *shape], float32 where they are normalised."""
        return tuple(
            observation if normaliser is None else _normalised(observation, normaliser)
            for observation, normaliser in zip(observations, self._normalisers, strict=True)
        )

    def encoders(self, chosen: Mapping[str, ChosenEncoder]) -> dict[str, ChosenEncoder]:
        """The chosen encoders, and those that normalised images need: what is normalised is not to be scaled again."""
        fitting = dict(chosen)
        for observation, normaliser in zip(self._raw.observations, self._normalisers, strict=True):
            encoder = chosen.get(observation.name) or default_encoder(observation)
            if normaliser is not None and encoder is not None:
                config = encoder.config
                if isinstance(config, ImageConfig):
                    config = config.model_copy(update={"scale": "none"})
                fitting[observation.name] = replace(encoder, config=config)
        return fitting

    def get_extra_state(self) -> list[dict[str, Any] | None]:
        """Part of `state_dict`."""
        return [None if normaliser is None else normaliser.state_dict() for normaliser in self._normalisers]

    def set_extra_state(self, state: Sequence[Mapping[str, Any] | None]) -> None:
        """Part of `load_state_dict`."""
        for normaliser, own in zip(self._normalisers, state, strict=True):
            if normaliser is not None and own is not None:
                normaliser.load_state_dict(own)


class FeatureNetwork(nn.Module):
    """Turns observations of any kind and number into features: encoders, then hidden layers.

    Args:
        spec: What is observed.
        config: The `network:` section; with `normalize`, vectors are normalised by what `observe` took in.
        device: Where it goes.
        generator: Source of the first weights.
        encoders: Chosen ones by observation name; others are the default of their observation.

    Attributes:
        output_size: Width of what `forward` returns.

    Raises:
        UserError: An observation cannot be encoded so.
    """

    def __init__(
        self,
        spec: BehaviorSpec,
        config: BodyConfig,
        device: torch.device,
        generator: torch.Generator,
        encoders: Mapping[str, ChosenEncoder] | None = None,
    ) -> None:
        super().__init__()
        encoders = encoders or {}
        check_choices(spec, encoders)
        self.normaliser = ObservationNormaliser(spec, device) if config.normalize else None
        self.body = Body(spec, config, encoders, [None] * len(spec.observations), generator)
        self.output_size = self.body.output_size
        self.to(device)

    def observe(self, observations: Sequence[Tensor]) -> None:
        """Let the normalisers take in observations, one tensor [n, *shape] each."""
        if self.normaliser is not None:
            self.normaliser.observe(observations)

    def forward(self, observations: Sequence[Tensor]) -> Tensor:
        """float32[n, output_size] of one tensor [n, *shape] for each observation."""
        features: Tensor = self.body(observations if self.normaliser is None else self.normaliser(observations))
        return features


def flat_actions(batch: Batch, action: ActionSpec) -> Tensor:
    """What was executed as one vector, float32[n, continuous_size + mask_size]: numbers, then each branch one-hot."""
    branches = [
        nn.functional.one_hot(batch["action.discrete"][:, branch], size).float()
        for branch, size in enumerate(action.discrete_branches)
    ]
    numbers = [batch["action.continuous"]] if action.continuous_size else []
    return torch.cat([*numbers, *branches], dim=1)


def _normalised(observation: Tensor, normaliser: RunningNormaliser) -> Tensor:
    return normaliser.normalise(observation.flatten(1).double()).view(observation.shape)
