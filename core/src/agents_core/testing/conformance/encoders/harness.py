"""Encoders under test: making them, and what they are tried on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from agents_core.contracts.encoder import EncoderContext
from agents_core.errors import UserError
from agents_core.options import ConfigModel
from agents_core.plugin import EncoderSpec
from agents_core.registry import Component
from agents_core.spec import ObservationSpec
from agents_core.testing.conformance.checks import require, skip
from agents_core.testing.conformance.component import ComponentConformance
from agents_core.testing.conformance.isolation import global_seed

OBSERVATIONS = {
    "a vector": ObservationSpec("numbers", (5,)),
    "a vector of doubles": ObservationSpec("numbers", (5,), "float64"),
    "a goal": ObservationSpec("goal", (3,), "float32", "goal"),
    "an image of bytes": ObservationSpec("camera", (40, 44, 3), "uint8", "image"),
    "an image of floats": ObservationSpec("camera", (40, 44, 3), "float32", "image"),
    "an image of booleans": ObservationSpec("camera", (40, 44, 4), "bool", "image"),
    "entities": ObservationSpec("others", (6, 4), "float32", "entities"),
}
ROWS = 6
_ACCEPTED: WeakKeyDictionary[type, dict[str, ObservationSpec]] = WeakKeyDictionary()


class EncoderChecks(ComponentConformance):
    """Base of the checks of encoders."""

    kind = "encoder"

    def observations(self) -> Mapping[str, ObservationSpec]:
        """Observations to try, by a title for messages; those of kinds that the spec does not name are left out."""
        return OBSERVATIONS

    def make(self, observation: ObservationSpec, *, seed: int = 0) -> nn.Module:
        """An encoder as a network would make it."""
        return make_encoder(self.found(), self.options(), observation, seed)

    def accepted(self) -> dict[str, ObservationSpec]:
        """The observations that the encoder does not refuse."""
        if type(self) not in _ACCEPTED:
            own = self.found().spec
            kinds = own.observation_kinds if isinstance(own, EncoderSpec) else ()
            offered = {
                title: observation
                for title, observation in self.observations().items()
                if not kinds or observation.kind in kinds
            }
            _ACCEPTED[type(self)] = {title: each for title, each in offered.items() if self._takes(each)}
        return _ACCEPTED[type(self)]

    def spawned(self) -> tuple[str, tuple[object, ...]]:
        observation = next(iter(self.accepted().values()))
        return f"{__name__}:code_of", (self.found(), self.options(), observation)

    def encoders(self) -> Iterator[tuple[str, ObservationSpec, nn.Module]]:
        """An encoder of each observation that it takes, by a title for messages."""
        if not self.accepted():
            skip("the encoder refuses all observations")
        for title, observation in self.accepted().items():
            with global_seed(0):
                encoder = self.make(observation)
            yield title, observation, encoder

    def _takes(self, observation: ObservationSpec) -> bool:
        try:
            with global_seed(0), torch.no_grad():
                self.make(observation)(draw(observation))
        except UserError:
            return False
        except Exception:  # a fault that the checks will name
            return True
        return True


def make_encoder(component: Component, config: ConfigModel, observation: ObservationSpec, seed: int = 0) -> nn.Module:
    """An encoder as a network would make it: torch's global generator is seeded while the factory runs."""
    generator = torch.Generator().manual_seed(seed)
    context = EncoderContext(config, observation, 16, "orthogonal", generator)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        encoder = component.load_factory()(context)
    require(isinstance(encoder, nn.Module), "the factory returns a torch module", type(encoder).__name__, "nn.Module")
    made: nn.Module = encoder
    return made


def draw(observation: ObservationSpec, *, seed: int = 0, rows: int = ROWS) -> Tensor:
    """Random observations; of entities, some are not there."""
    generator = np.random.default_rng(seed)
    shape = (rows, *observation.shape)
    if observation.dtype == "bool":
        return torch.from_numpy(generator.random(shape) < 0.5)
    if observation.dtype == "uint8":
        return torch.from_numpy(generator.integers(0, 256, shape).astype(np.uint8))
    numbers = generator.random(shape) if observation.kind == "image" else generator.normal(size=shape)
    if observation.kind == "entities":
        numbers *= generator.random((rows, observation.shape[0], 1)) < 0.7
    return torch.from_numpy(numbers.astype(observation.dtype))


def code_of(component: Component, config: ConfigModel, observation: ObservationSpec) -> list[float]:
    """Codes of a new encoder."""
    with global_seed(0), torch.no_grad():
        code: list[float] = flat(make_encoder(component, config, observation)(draw(observation))).tolist()
    return code


def flat(code: Tensor) -> Tensor:
    """A code of any dtype and shape: what is wrong with those is one check's business, not of all."""
    return code.float().reshape(-1)


def shown(code: Tensor) -> str:
    return f"[{', '.join(f'{number:.6g}' for number in code[:6].tolist())}, …]"
