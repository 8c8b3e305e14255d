"""What the kit asks of every reward signal."""

from __future__ import annotations

from agents_core.testing import RewardSignalConformance


class TestRND(RewardSignalConformance):
    component = "rnd"
