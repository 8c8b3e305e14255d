"""What the discriminator sees: observations and perhaps actions, as floats that can be mixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from agents_core.columns import Batch
from agents_core.contracts.encoder import ChosenEncoder
from agents_core.networks.encoders.choice import check_choices, default_encoder
from agents_core.networks.encoders.config import ImageConfig
from agents_core.networks.features import VECTORS, ObservationNormaliser, flat_actions
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from torch import Tensor, nn

Inputs = tuple[Tensor, ...]


class DiscriminatorInputs(nn.Module):
    """Turns batches into float tensors, in the scale in which slopes are penalised.

    Vectors are normalised where the network says so, bytes of images lie in [0, 1]; actions are in the executed scale,
    branches one-hot, as one more vector.

    Args:
        spec: What the behavior sees and does.
        use_actions: Whether actions are seen.
        normalize: Whether vectors are normalised.
        chosen: Encoders by observation name.
        device: Of the batches.

    Attributes:
        spec: With what is returned as its observations.
        encoders: For that spec.
    """

    def __init__(
        self,
        spec: BehaviorSpec,
        *,
        use_actions: bool,
        normalize: bool,
        chosen: Mapping[str, ChosenEncoder],
        device: torch.device,
    ) -> None:
        super().__init__()
        check_choices(spec, chosen)
        self.normaliser = ObservationNormaliser(spec, device, VECTORS if normalize else ())
        self._action: ActionSpec | None = spec.action if use_actions else None
        self.encoders: dict[str, ChosenEncoder] = {}
        self._factors: list[float] = []
        observations = []
        for observation in spec.observations:
            encoder = chosen.get(observation.name) or default_encoder(observation)
            factor = 1.0
            if encoder is not None and isinstance(encoder.config, ImageConfig) and encoder.config.scale == "auto":
                factor = 1 / 255 if observation.dtype == "uint8" else 1.0
                encoder = replace(encoder, config=encoder.config.model_copy(update={"scale": "none"}))
            if encoder is not None:
                self.encoders[observation.name] = encoder
            self._factors.append(factor)
            observations.append(replace(observation, dtype="float32"))
        if use_actions:
            width = spec.action.continuous_size + spec.action.mask_size
            observations.append(ObservationSpec(_free_name(observations), (width,)))
        self.spec = replace(spec, observations=tuple(observations))

    def observe(self, observations: Sequence[Tensor]) -> None:
        """Let the normalisers take in observations, one tensor [n, *shape] each."""
        self.normaliser.observe(observations)

    def forward(self, batch: Batch) -> Inputs:
        """float32[n, *shape] for each observation of `spec`."""
        observations = self.normaliser(batch.observations)
        scaled = [
            observation.float() * factor if factor != 1 else observation.float()
            for observation, factor in zip(observations, self._factors, strict=True)
        ]
        return tuple(scaled) if self._action is None else (*scaled, flat_actions(batch, self._action))


def _free_name(observations: Sequence[ObservationSpec]) -> str:
    name, names = "action", {observation.name for observation in observations}
    while name in names:
        name = f"_{name}"
    return name
