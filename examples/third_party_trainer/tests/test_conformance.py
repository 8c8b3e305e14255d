"""The trainer keeps to its contract."""

from agents_core.testing import TrainerConformance


class TestConformance(TrainerConformance):
    component = "reinforce"
