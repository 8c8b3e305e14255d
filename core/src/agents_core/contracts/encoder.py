"""The encoder contract: one observation in, one vector out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from agents_core.options import ConfigModel
from agents_core.spec import ObservationSpec

if TYPE_CHECKING:
    import torch
    from torch import nn

ConfigT = TypeVar("ConfigT")


@dataclass(frozen=True, slots=True)
class EncoderContext(Generic[ConfigT]):
    """What an encoder factory is called with.

    The factory returns a module with `output_size: int` whose `forward` turns one observation [n, *shape], in its own
    dtype, images channels last, into float32[n, output_size]. Vectors come normalised where the network normalises.

    Attributes:
        config: The encoder's own config model, validated.
        observation: What it encodes.
        hidden_units: Width of the network's hidden layers, which suits a code too.
        initialization: How the network's first weights are drawn; see `networks.initialisation.Initialiser`.
        generator: Source of first weights. While the factory runs, torch's global generator is seeded from it.
    """

    config: ConfigT
    observation: ObservationSpec
    hidden_units: int
    initialization: Literal["orthogonal", "kaiming"]
    generator: torch.Generator


@dataclass(frozen=True, slots=True)
class ChosenEncoder:
    """The encoder of an observation, chosen by an experiment or by default.

    Attributes:
        title: What messages call it, such as `encoder 'resnet' of agents-core 0.1.0`.
        factory: Makes it.
        config: Options for the factory.
        observation_kinds: Kinds of observation that it takes; none = any.
    """

    title: str
    factory: Callable[[EncoderContext[Any]], nn.Module]
    config: ConfigModel
    observation_kinds: tuple[str, ...] = ()
