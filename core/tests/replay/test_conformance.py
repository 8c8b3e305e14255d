"""Core's buffers keep to the contract that everybody's buffers keep to."""

from __future__ import annotations

from agents_core.testing import BufferConformance


class TestReplay(BufferConformance):
    component = "replay"


class TestPrioritized(BufferConformance):
    component = "prioritized"
