"""The reward signal keeps to its contract."""

from agents_core.testing import RewardSignalConformance


class TestConformance(RewardSignalConformance):
    component = "novelty"
