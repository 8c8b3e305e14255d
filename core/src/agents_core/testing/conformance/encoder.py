"""The conformance class of encoders."""

from __future__ import annotations

from agents_core.testing.conformance.encoders.codes import CodeChecks
from agents_core.testing.conformance.encoders.weights import WeightChecks


class EncoderConformance(WeightChecks, CodeChecks):
    """Subclass it in a test, and name the encoder: `component = "resnet"`.

    An encoder that is for some shapes only refuses the others with a `UserError` when it is made; where none of the
    observations of the kit is among its own, replace `observations`.
    """
