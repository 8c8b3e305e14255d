"""The TensorBoard writer keeps to the contract of stats writers."""

from __future__ import annotations

from agents_core.testing import StatsWriterConformance


class TestTensorBoard(StatsWriterConformance):
    component = "tensorboard"
