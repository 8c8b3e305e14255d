"""Values bootstrap through a time limit, wherever the environments run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import agents_core
import numpy as np
import pytest
import torch
from agents_core.config import load_experiment
from agents_core.registry import load_registry
from agents_core.timers import Timers
from agents_core.training.build import make_trainer
from agents_core.training.checkpoint import CheckpointStore
from agents_core.training.learner import spec_from_tree


def value_of(run: Path, observation: np.ndarray) -> float:
    """What the critic of the run's last checkpoint says."""
    registry = load_registry()
    experiment = load_experiment(run / "config.yaml", registry)
    store = CheckpointStore(run / "checkpoints")
    (name,) = store.behaviors()
    checkpoint = store.load(name, "last")
    spec = spec_from_tree(checkpoint.state["spec"])
    trainer = make_trainer(experiment, name, experiment.behavior(name), spec, Timers(), registry)
    trainer.load_policy_state(checkpoint.policy)
    trainer.load_state_dict(checkpoint.trainer)
    return float(trainer.policy.network.value((torch.from_numpy(observation),)).item())  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("num_envs", [1, 4])
@pytest.mark.parametrize("workers", [{"type": "inline"}, {"type": "process", "count": 1}])
def test_reward_1_each_step_is_worth_10_at_gamma_09_although_episodes_end_after_10(
    tmp_path: Path, num_envs: int, workers: dict[str, Any]
) -> None:
    experiment = {
        "plugins": ["agents_core.testing.plugin"],
        "environment": {"type": "toy", "id": "time_limit", "agents": 4, "num_envs": num_envs, "workers": workers},
        "behaviors": {
            "*": {
                "max_steps": 20_000,
                "network": {"hidden_units": 32},
                "trainer": {
                    "type": "ppo",
                    "batch_size": 64,
                    "buffer_size": 256,
                    "num_epoch": 8,
                    "learning_rate": {"schedule": "linear", "initial": 5e-3, "final": 0},
                    "beta": 0,
                },
                "reward_signals": {"extrinsic": {"gamma": 0.9}},
            }
        },
        "evaluation": {"interval": 0},
        "stats": {},
    }
    run = agents_core.train(experiment, results=tmp_path, run_id="run")
    for seen in np.linspace(-1, 1, 5):
        assert value_of(run.directory, np.full((1, 1), seen, np.float32)) == pytest.approx(10, abs=0.5)
