"""An encoder that keeps to the contract, and one for each way not to."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from agents_core.contracts.encoder import EncoderContext
from agents_core.errors import UserError
from agents_core.networks.initialisation import Initialiser
from agents_core.options import ConfigModel
from agents_core.plugin import EncoderSpec, hookimpl
from torch import Tensor, nn


class Right(nn.Module):
    """A dense layer over everything."""

    def __init__(self, context: EncoderContext[ConfigModel]) -> None:
        super().__init__()
        self.output_size = context.hidden_units
        self.divisor = 255.0 if context.observation.dtype == "uint8" else 1.0
        self.dense = Initialiser(context.initialization, context.generator).linear(
            context.observation.size, self.output_size
        )

    def forward(self, seen: Tensor) -> Tensor:
        code: Tensor = torch.tanh(self.dense(self.flat(seen)))
        return code

    def flat(self, seen: Tensor) -> Tensor:
        return seen.float().flatten(1) / self.divisor


class RefusesAll(Right):
    def __init__(self, context: EncoderContext[ConfigModel]) -> None:
        raise UserError(f"{context.observation.name} is not encoded")


class GivesDoubles(Right):
    def forward(self, seen: Tensor) -> Tensor:
        return super().forward(seen).double()


class Squeezes(Right):
    def forward(self, seen: Tensor) -> Tensor:
        return super().forward(seen).squeeze(0)


class CentresOnBatch(Right):
    def flat(self, seen: Tensor) -> Tensor:
        flat = super().flat(seen)
        return flat - flat.mean(dim=0)


class DividesByNorm(Right):
    def flat(self, seen: Tensor) -> Tensor:
        flat = super().flat(seen)
        return flat / flat.norm(dim=1, keepdim=True)


class CountsCalls(Right):
    calls = 0

    def forward(self, seen: Tensor) -> Tensor:
        self.calls += 1
        return super().forward(seen) * (1 + 0.0001 * (self.calls % 3 == 0))


class IgnoresSeed(Right):
    def __init__(self, context: EncoderContext[ConfigModel]) -> None:
        super().__init__(context)
        with torch.no_grad():
            self.dense.weight.mul_(1 + np.random.default_rng().random())


class HasUnusedWeights(Right):
    def __init__(self, context: EncoderContext[ConfigModel]) -> None:
        super().__init__(context)
        self.unused = nn.Parameter(torch.ones(3))


class FreezesBias(Right):
    def __init__(self, context: EncoderContext[ConfigModel]) -> None:
        super().__init__(context)
        self.dense.bias.requires_grad_(False)
        self.scale = nn.Parameter(torch.ones(self.output_size))

    def forward(self, seen: Tensor) -> Tensor:
        return super().forward(seen) * self.scale


class ClipsInPlace(Right):
    def flat(self, seen: Tensor) -> Tensor:
        if seen.dtype == torch.float32:
            seen.clamp_(-0.5, 0.5)
        return super().flat(seen)


class DrawsGlobally(Right):
    def flat(self, seen: Tensor) -> Tensor:
        torch.rand(1)
        return super().flat(seen)


class StandsAlone(Right):
    """Cannot be made as a part of a network."""

    def __init__(self, context: EncoderContext[ConfigModel]) -> None:
        if context.generator.initial_seed() == 0 and _is_network(context):
            raise ValueError("only on its own")
        super().__init__(context)


def _is_network(context: EncoderContext[ConfigModel]) -> bool:
    """A network has drawn from the generator before it asks for an encoder."""
    fresh = torch.Generator().manual_seed(0)
    return not torch.equal(context.generator.get_state(), fresh.get_state())


EXPECTED: dict[type[Any], str] = {
    RefusesAll: "test_some_observation_is_encoded",
    GivesDoubles: "test_the_code_is_float32_of_the_stated_width",
    Squeezes: "test_one_row_is_enough",
    CentresOnBatch: "test_codes_do_not_depend_on_other_rows",
    DividesByNorm: "test_codes_are_finite",
    CountsCalls: "test_the_same_observation_gives_the_same_code",
    IgnoresSeed: "test_a_seed_repeats",
    HasUnusedWeights: "test_gradients_reach_every_weight",
    FreezesBias: "test_there_is_no_state_beside_the_weights",
    ClipsInPlace: "test_observations_stay_as_they_are",
    DrawsGlobally: "test_the_process_is_left_alone",
    StandsAlone: "test_a_network_acts_with_it",
}
"""The one check that each fails."""


@hookimpl
def agents_encoders() -> list[EncoderSpec]:
    return [
        EncoderSpec(
            name=encoder.__name__.lower(),
            summary="A test encoder",
            config="agents_core.options:ConfigModel",
            factory=f"faulty_encoders:{encoder.__name__}",
            observation_kinds=("vector", "image"),
        )
        for encoder in (Right, *EXPECTED)
    ]
