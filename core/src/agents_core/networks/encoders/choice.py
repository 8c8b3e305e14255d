"""Which encoder an observation gets, and making it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from agents_core.contracts.encoder import ChosenEncoder, EncoderContext
from agents_core.errors import UserError
from agents_core.networks.encoders.config import EntitiesConfig, ImageConfig, SymbolicConfig
from agents_core.networks.encoders.entities import make_entities
from agents_core.networks.encoders.images import make_fully_connected, make_simple, make_symbolic
from agents_core.networks.encoders.pixels import SMALLEST_SIDES
from agents_core.networks.encoders.vector import VectorEncoder
from agents_core.options import BodyConfig
from agents_core.spec import BehaviorSpec, ObservationSpec

LARGEST_GRID = 32
"""Up to this side, planes of booleans are taken for grids of symbols."""


def check_choices(spec: BehaviorSpec, chosen: Mapping[str, ChosenEncoder]) -> None:
    """Refuse encoders for observations that are not there or of a kind that they do not take.

    Raises:
        UserError: Names the observation.
    """
    observations = {observation.name: observation for observation in spec.observations}
    for name, encoder in chosen.items():
        if name not in observations:
            near = difflib.get_close_matches(name, observations, n=1)
            raise UserError(
                f"network.encoders: the behavior has no observation {name!r}; it has "
                f"{', '.join(map(repr, observations))}{f'; did you mean {near[0]!r}?' if near else ''}"
            )
        kind, shape = observations[name].kind, observations[name].shape
        if encoder.observation_kinds and kind not in encoder.observation_kinds:
            raise UserError(
                f"network.encoders.{name}: {encoder.title} takes observations of kind "
                f"{' or '.join(map(repr, encoder.observation_kinds))}, but {name!r} of shape {shape} is of kind "
                f"{kind!r}. Choose another encoder, or leave it out for the default"
            )


def default_encoder(observation: ObservationSpec) -> ChosenEncoder | None:
    """The encoder of an observation for which none is chosen; None = its numbers as they are.

    Images get `simple`. Those too small for it, and small planes of booleans, are grids of symbols: `symbolic`.
    """
    if observation.kind == "entities":
        return ChosenEncoder("encoder 'entities'", make_entities, EntitiesConfig())
    if observation.kind != "image":
        return None
    sides = observation.shape[:2]
    if not sides or min(sides) < SMALLEST_SIDES["symbolic"]:
        return ChosenEncoder("encoder 'fully_connected'", make_fully_connected, ImageConfig())
    is_small_grid = observation.dtype == "bool" and max(sides) <= LARGEST_GRID
    if min(sides) < SMALLEST_SIDES["simple"] or is_small_grid:
        return ChosenEncoder("encoder 'symbolic'", make_symbolic, SymbolicConfig())
    return ChosenEncoder("encoder 'simple'", make_simple, ImageConfig())


def build_encoder(
    observation: ObservationSpec, chosen: ChosenEncoder | None, network: BodyConfig, generator: torch.Generator
) -> nn.Module:
    """The encoder of an observation: the chosen one, else its default.

    Raises:
        UserError: It does not return what it says, or keeps state beside its parameters.
    """
    encoder = chosen or default_encoder(observation)
    if encoder is None:
        return VectorEncoder(observation)
    context = EncoderContext(encoder.config, observation, network.hidden_units, network.initialization, generator)
    seed = int(torch.randint(2**62, (), generator=generator))
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        module = encoder.factory(context)
        _check_output(module, observation, encoder.title)
    return module


def width_of(encoder: nn.Module) -> int:
    """Width of an encoder's code."""
    width: Any = encoder.output_size
    return int(width)


@torch.no_grad()
def _check_output(module: nn.Module, observation: ObservationSpec, title: str) -> None:
    """Try an encoder on two observations of zeros."""
    place = f"observation {observation.name!r} of shape {observation.shape}: {title}"
    declared = getattr(module, "output_size", None)
    if not isinstance(declared, int) or declared < 1:
        raise UserError(f"{place} needs an attribute `output_size`, a whole number of at least 1; found {declared!r}")
    buffers = [name for name, _ in module.named_buffers()]
    if buffers:
        raise UserError(
            f"{place} keeps buffers ({', '.join(buffers)}), which are neither learned nor saved. Make them parameters, "
            "or use layers without running statistics, such as LayerNorm or GroupNorm instead of BatchNorm"
        )
    zeros = torch.zeros((2, *observation.shape), dtype=getattr(torch, observation.dtype))
    try:
        code = module(zeros)
    except Exception as error:
        raise UserError(f"{place} fails on zeros: {type(error).__name__}: {error}") from error
    if not isinstance(code, torch.Tensor) or code.shape != (2, declared) or code.dtype != torch.float32:
        found = f"{code.dtype}{list(code.shape)}" if isinstance(code, torch.Tensor) else type(code).__name__
        raise UserError(
            f"{place} says output_size {declared}, so that 2 observations must become torch.float32[2, {declared}], "
            f"but they become {found}. Correct the encoder's `output_size` or its `forward`"
        )
