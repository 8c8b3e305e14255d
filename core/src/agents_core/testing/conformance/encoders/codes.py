"""What an encoder gives."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from agents_core.registry.names import describe
from agents_core.testing.conformance.checks import require
from agents_core.testing.conformance.encoders.harness import ROWS, EncoderChecks, draw, flat, shown
from agents_core.testing.conformance.isolation import GENERATORS, SETTINGS, global_seed, read


class CodeChecks(EncoderChecks):
    """Checks of codes, and that nothing else changes when one is made."""

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
        for title, observation, encoder in self.encoders():
            width = getattr(encoder, "output_size", None)
            rule = f"{title}: the encoder says its `output_size`"
            require(type(width) is int and width > 0, rule, repr(width), "a positive int")
            code: Any = encoder(draw(observation))
            found = f"{code.dtype} {list(code.shape)}" if isinstance(code, Tensor) else type(code).__name__
            expected = f"torch.float32 {[ROWS, width]}"
            require(found == expected, f"{title}: the code is float32[n, output_size]", found, expected)

    def test_one_row_is_enough(self) -> None:
        """A single agent is encoded.

        Mend: no `squeeze()`; no statistics over the batch.
        """
        for title, observation, encoder in self.encoders():
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
        for title, observation, encoder in self.encoders():
            seen = draw(observation)
            with torch.no_grad():
                whole = flat(encoder(seen))
                parts = torch.cat([flat(encoder(seen[:3])), flat(encoder(seen[3:]))])
            rule = f"{title}: a batch gives what its halves give"
            near = parts.shape == whole.shape and torch.allclose(parts, whole, rtol=1e-3, atol=1e-4, equal_nan=True)
            require(near, rule, shown(parts), shown(whole))

    def test_codes_are_finite(self) -> None:
        """No number is NaN or infinite: for ordinary observations, for zeros and for the largest ones.

        Mend: an epsilon where something is divided by a norm; a softmax over nothing is NaN.
        """
        for title, observation, encoder in self.encoders():
            ordinary = draw(observation)
            trials = {"ordinary": ordinary, "zero": torch.zeros_like(ordinary), "largest": _largest(ordinary)}
            for what, seen in trials.items():
                with torch.no_grad():
                    code = flat(encoder(seen))
                rule = f"{title}, {what} observations: codes are finite"
                require(bool(torch.isfinite(code).all()), rule, shown(code), "finite numbers")

    def test_the_same_observation_gives_the_same_code(self) -> None:
        """Encoding draws nothing and keeps nothing: an observation seen again has the same code.

        Mend: no dropout, no running statistics in `forward`.
        """
        for title, observation, encoder in self.encoders():
            seen, other = draw(observation), draw(observation, seed=1)
            with torch.no_grad():
                first = flat(encoder(seen)).clone()
                encoder(other)
                again = flat(encoder(seen))
            same = torch.equal(first, again) or bool(torch.isnan(first).any())
            require(same, f"{title}: the same observation gives the same code", shown(again), shown(first))

    def test_observations_stay_as_they_are(self) -> None:
        """The tensor that comes in is the rollout's.

        Mend: no in-place operation on it, nor a rectifier with `inplace=True` as first layer.
        """
        for title, observation, encoder in self.encoders():
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


def _largest(seen: Tensor) -> Tensor:
    if seen.dtype == torch.bool:
        return torch.ones_like(seen)
    if seen.dtype == torch.uint8:
        return torch.full_like(seen, 255)
    return torch.ones_like(seen) if float(seen.min()) >= 0 else seen * 1e3
