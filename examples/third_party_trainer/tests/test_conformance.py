"""The trainer keeps to its contract."""

from typing import ClassVar

from agents_core.testing import TrainerConformance, overrides


class TestConformance(TrainerConformance):
    component = "reinforce"
    config: ClassVar = {"buffer_size": 64}
    probe_config: ClassVar = {"buffer_size": 64, "learning_rate": 1e-2}

    @overrides("REINFORCE has no values that could go on through a limit")
    def test_values_go_on_through_a_limit(self) -> None: ...
