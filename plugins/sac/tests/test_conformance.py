"""SAC keeps to the contract of trainers."""

from __future__ import annotations

from agents_core.testing import TrainerConformance


class TestSAC(TrainerConformance):
    component = "sac"
    config = {"buffer_init_steps": 16, "batch_size": 16, "learning_rate": 1e-3, "buffer": {"buffer_size": 2000}}  # noqa: RUF012
    probe_config = {  # noqa: RUF012
        "buffer_init_steps": 500,
        "batch_size": 64,
        "learning_rate": 3e-3,
        "steps_per_update": 8,
        "tau": 0.05,
        "init_entcoef": 0.05,
        "buffer": {"buffer_size": 20_000},
    }
