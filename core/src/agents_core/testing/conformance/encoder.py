"""What is checked of every encoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from agents_core.contracts.encoder import ChosenEncoder, EncoderContext
from agents_core.errors import UserError
from agents_core.networks.actor_critic import ActorCritic
from agents_core.options import ConfigModel, NetworkConfig
from agents_core.plugin import EncoderSpec
from agents_core.registry import Component
from agents_core.registry.names import describe
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.conformance.checks import require, skip
from agents_core.testing.conformance.component import ComponentConformance
from agents_core.testing.conformance.isolation import GENERATORS, SETTINGS, global_seed, read

OBSERVATIONS = {
    "a vector": ObservationSpec("numbers", (5,)),
    "a vector of doubles": ObservationSpec("numbers", (5,), "float64"),
    "a goal": ObservationSpec("goal", (3,), "float32", "goal"),
    "an image of bytes": ObservationSpec("camera", (40, 44, 3), "uint8", "image"),
    "an image of floats": ObservationSpec("camera", (40, 44, 3), "float32", "image"),
    "an image of booleans": ObservationSpec("camera", (40, 44, 4), "bool", "image"),
    "entities": ObservationSpec("others", (6, 4), "float32", "entities"),
}
_ROWS = 6
_ACCEPTED: WeakKeyDictionary[type, dict[str, ObservationSpec]] = WeakKeyDictionary()


class EncoderConformance(ComponentConformance):
    """Subclass it in a test, and name the encoder: `component = "resnet"`.

    An encoder that is for some shapes only refuses the others with a `UserError` when it is made; where none of
    `OBSERVATIONS` is among its own, replace `observations`.
    """

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

    def test_some_observation_is_encoded(self) -> None:
        """At least one observation of the kinds that the spec names is not refused.

        Mend: name in `observation_kinds` what the encoder is for; replace `observations` where it needs a shape.
        """
        rule = "an observation of the encoder's kinds is encoded"
        require(bool(self.accepted()), rule, "all are refused", f"one of {', '.join(self.observations())}")

    def test_the_code_is_float32_of_the_stated_width(self) -> None:
        """`forward` turns [n, *shape] in the observation's own dtype into float32[n, output_size].

        Mend: `.float()` on what comes in, `.flatten(1)` before a dense layer, `output_size` from the last layer.
        """
        for title, observation, encoder in self._encoders():
            width = getattr(encoder, "output_size", None)
            rule = f"{title}: the encoder says its `output_size`"
            require(type(width) is int and width > 0, rule, repr(width), "a positive int")
            code: Any = encoder(draw(observation))
            found = f"{code.dtype} {list(code.shape)}" if isinstance(code, Tensor) else type(code).__name__
            expected = f"torch.float32 {[_ROWS, width]}"
            require(found == expected, f"{title}: the code is float32[n, output_size]", found, expected)

    def test_one_row_is_enough(self) -> None:
        """A single agent is encoded.

        Mend: no `squeeze()`; no statistics over the batch.
        """
        for title, observation, encoder in self._encoders():
            row = draw(observation)[:1]
            try:
                shape = list(encoder(row).shape)
            except Exception as error:
                require(False, f"{title}: one row is encoded", describe(error), "a code")
                raise
            require(shape[:1] == [1] and len(shape) == 2, f"{title}: one row is encoded", shape, "[1, output_size]")

    def test_codes_do_not_depend_on_other_rows(self) -> None:
        """A batch gives what its halves give.

        Mend: LayerNorm or GroupNorm in place of BatchNorm.
        """
        for title, observation, encoder in self._encoders():
            seen = draw(observation)
            with torch.no_grad():
                whole = _flat(encoder(seen))
                parts = torch.cat([_flat(encoder(seen[:3])), _flat(encoder(seen[3:]))])
            rule = f"{title}: a batch gives what its halves give"
            near = parts.shape == whole.shape and torch.allclose(parts, whole, rtol=1e-3, atol=1e-4, equal_nan=True)
            require(near, rule, _shown(parts), _shown(whole))

    def test_codes_are_finite(self) -> None:
        """No number is NaN or infinite: for ordinary observations, for zeros and for the largest ones.

        Mend: an epsilon where something is divided by a norm; a softmax over nothing is NaN.
        """
        for title, observation, encoder in self._encoders():
            ordinary = draw(observation)
            trials = {"ordinary": ordinary, "zero": torch.zeros_like(ordinary), "largest": _largest(ordinary)}
            for what, seen in trials.items():
                with torch.no_grad():
                    code = _flat(encoder(seen))
                rule = f"{title}, {what} observations: codes are finite"
                require(bool(torch.isfinite(code).all()), rule, _shown(code), "finite numbers")

    def test_the_same_observation_gives_the_same_code(self) -> None:
        """Encoding draws nothing and keeps nothing: an observation seen again has the same code.

        Mend: no dropout, no running statistics in `forward`.
        """
        for title, observation, encoder in self._encoders():
            seen, other = draw(observation), draw(observation, seed=1)
            with torch.no_grad():
                first = _flat(encoder(seen)).clone()
                encoder(other)
                again = _flat(encoder(seen))
            same = torch.equal(first, again) or bool(torch.isnan(first).any())
            require(same, f"{title}: the same observation gives the same code", _shown(again), _shown(first))

    def test_a_seed_repeats(self) -> None:
        """First weights come from `context.generator` alone.

        Mend: `Initialiser(context.initialization, context.generator)` makes layers; torch's own layers draw from its
        global generator, which is seeded while the factory runs, NumPy's and `random`'s are not.
        """
        for title, observation in self.accepted().items():
            codes = []
            for seed in (1, 2):
                with global_seed(seed), torch.no_grad():
                    codes.append(_flat(self.make(observation)(draw(observation))))
            same = torch.equal(*codes) or bool(torch.isnan(codes[0]).any())
            require(same, f"{title}: one seed gives the same weights", _shown(codes[1]), _shown(codes[0]))

    def test_gradients_reach_every_weight(self) -> None:
        """The loss of the policy trains the encoder, all of it.

        Mend: no `detach` and no NumPy between observation and code; drop layers that `forward` does not use.
        """
        for title, observation, encoder in self._encoders():
            weights = {name: weight for name, weight in encoder.named_parameters() if weight.requires_grad}
            if not weights:
                continue
            code = encoder(draw(observation))
            rule = f"{title}: gradients reach every weight"
            require(
                bool(code.requires_grad), rule, "the code carries no gradient", "a code that depends on the weights"
            )
            code.float().square().sum().backward()
            untouched = [name for name, weight in weights.items() if weight.grad is None]
            require(not untouched, rule, f"none at {', '.join(untouched)}", ", ".join(weights))

    def test_there_is_no_state_beside_the_weights(self) -> None:
        """Weights are what is learned, saved and exported; buffers are not.

        Mend: make constants plain attributes computed in `forward`, or `nn.Parameter(…, requires_grad=True)`.
        """
        for title, _, encoder in self._encoders():
            buffers = [name for name, _ in encoder.named_buffers()]
            frozen = [name for name, weight in encoder.named_parameters() if not weight.requires_grad]
            found = ", ".join([*buffers, *frozen])
            require(not found, f"{title}: all state is in weights that learn", f"beside them: {found}", "none")

    def test_observations_stay_as_they_are(self) -> None:
        """The tensor that comes in is the rollout's.

        Mend: no in-place operation on it, nor a rectifier with `inplace=True` as first layer.
        """
        for title, observation, encoder in self._encoders():
            seen = draw(observation)
            before = seen.clone()
            encoder(seen)
            require(torch.equal(seen, before), f"{title}: observations stay as they are", "changed", "the same numbers")

    def test_the_process_is_left_alone(self) -> None:
        """Nothing draws from global generators or changes settings of the process when an observation is encoded.

        Mend: draw first weights in the factory; no `set_grad_enabled`, no `set_num_threads`.
        """
        for title, observation in self.accepted().items():
            with global_seed(0):
                before = {**read(GENERATORS), **read(SETTINGS)}
                self.make(observation)(draw(observation))
                after = {**read(GENERATORS), **read(SETTINGS)}
            changed = [name for name in before if before[name] != after[name]]
            require(not changed, f"{title}: the process is left alone", f"changed: {', '.join(changed)}", "nothing")

    def test_a_network_acts_with_it(self) -> None:
        """An actor-critic network takes the encoder for its observation, and its weights join the network's.

        Mend: return an `nn.Module` whose weights are float32 and registered.
        """
        component = self.found()
        for title, observation in self.accepted().items():
            kinds = component.spec.observation_kinds if isinstance(component.spec, EncoderSpec) else ()
            chosen = ChosenEncoder(component.title, component.load_factory(), self.options(), kinds)
            spec = BehaviorSpec((observation,), ActionSpec(discrete_branches=(3,)))
            config, generator = NetworkConfig(hidden_units=16), torch.Generator().manual_seed(0)
            try:
                with global_seed(0), torch.no_grad():
                    network = ActorCritic(spec, config, 1, torch.device("cpu"), generator, {observation.name: chosen})
                    outputs, _ = network([draw(observation)])
            except UserError as error:  # a network looks at widths, dtypes and buffers, as the other checks do
                skip(str(error))
                raise
            except Exception as error:
                require(False, f"{title}: a network takes the encoder", describe(error), "outputs")
                raise
            require(outputs.shape == (_ROWS, 3), f"{title}: a network acts with it", list(outputs.shape), [_ROWS, 3])

    def _encoders(self) -> Iterator[tuple[str, ObservationSpec, nn.Module]]:
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


def draw(observation: ObservationSpec, *, seed: int = 0, rows: int = _ROWS) -> Tensor:
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
        code: list[float] = _flat(make_encoder(component, config, observation)(draw(observation))).tolist()
    return code


def _flat(code: Tensor) -> Tensor:
    """A code of any dtype and shape: what is wrong with those is one check's business, not of all."""
    return code.float().reshape(-1)


def _largest(seen: Tensor) -> Tensor:
    if seen.dtype == torch.bool:
        return torch.ones_like(seen)
    if seen.dtype == torch.uint8:
        return torch.full_like(seen, 255)
    return torch.ones_like(seen) if float(seen.min()) >= 0 else seen * 1e3


def _shown(code: Tensor) -> str:
    return f"[{', '.join(f'{number:.6g}' for number in code[:6].tolist())}, …]"
