"""Runs of policies with memory through the Python door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import agents_core
import numpy as np
import pytest
from agents_core.errors import UserError


def experiment(max_steps: int) -> dict[str, Any]:
    """A small experiment with agents that come, go and act at different times."""
    return {
        "plugins": ["agents_core.testing.plugin"],
        "environment": {"type": "toy", "id": "ragged", "agents": 8},
        "behaviors": {
            "*": {
                "max_steps": max_steps,
                "time_horizon": 16,
                "network": {"hidden_units": 16, "memory": {"size": 8, "sequence_length": 8}},
                "trainer": {"type": "ppo", "batch_size": 64, "buffer_size": 128},
            }
        },
        "evaluation": {"interval": 250, "episodes": 5},
    }


def test_a_loaded_policy_is_given_its_memory_back(tmp_path: Path) -> None:
    result = agents_core.train(experiment(500), results=tmp_path, run_id="run")
    policy = agents_core.load_policy(result.directory)
    seen, mask = np.ones((2, 3), np.float32), np.ones((2, 3), np.bool_)
    first = policy.act(seen, action_mask=mask)
    assert first.memory is not None
    assert first.memory.shape == (2, 16)
    second = policy.act(seen, first.memory, action_mask=mask)
    assert second.memory is not None
    assert (second.memory != first.memory).any()
    again = policy.act(seen, action_mask=mask)
    np.testing.assert_array_equal(again.memory, first.memory)
    with pytest.raises(UserError, match=r"memory has shape \(2, 16\), \(1, 16\) given"):
        policy.act(seen, first.memory[:1], action_mask=mask)
