"""What the kit asks of every reward signal."""

from __future__ import annotations

from agents_core.testing import RewardSignalConformance


class TestCuriosity(RewardSignalConformance):
    component = "curiosity"


class TestNormalisedCuriosity(RewardSignalConformance):
    component = "curiosity"
    config = {"normalize": True, "network": {"normalize": True}}  # noqa: RUF012
