"""The conformance class of buffers."""

from __future__ import annotations

from agents_core.testing.conformance.buffers.manners import MannerChecks
from agents_core.testing.conformance.buffers.samples import SampleChecks
from agents_core.testing.conformance.buffers.states import StateChecks


class BufferConformance(MannerChecks, StateChecks, SampleChecks):
    """Subclass it in a test, and name the buffer: `component = "replay"`.

    Where its capacity has another name than `buffer_size`, give that as `capacity_option`.
    """
