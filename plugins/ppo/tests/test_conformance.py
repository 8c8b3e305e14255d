"""PPO keeps to the contract of trainers."""

from __future__ import annotations

from agents_core.testing import TrainerConformance


class TestPPO(TrainerConformance):
    component = "ppo"
    config = {"buffer_size": 64, "batch_size": 16, "num_epoch": 3, "learning_rate": 1e-3}  # noqa: RUF012
    probe_config = {"buffer_size": 256, "batch_size": 64, "num_epoch": 4, "learning_rate": 3e-3}  # noqa: RUF012
