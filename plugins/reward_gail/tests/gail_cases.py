"""Signals made with demonstrations, and batches of what agents did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from agents_core.columns import Batch
from agents_core.contracts.demonstration import Demonstration
from agents_core.demonstrations import store_demonstration
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.contexts import signal_context
from agents_core.testing.demonstrations import random_demonstration
from agents_core.testing.transitions import make_batch
from agents_reward_gail.config import GAILConfig
from agents_reward_gail.signal import GAILReward

SPEC = BehaviorSpec((ObservationSpec("seen", (2,)), ObservationSpec("felt", (3,))), ActionSpec(1, (3,)))


def make_signal(
    folder: Path, demonstration: Demonstration | None = None, *, seed: int = 0, acts_only: bool = False, **options: Any
) -> GAILReward:
    """The signal `gail` of a demonstration."""
    demonstration = demonstration or random_demonstration(SPEC, (5, 7, 4))
    path = folder / "expert.h5"
    if not path.exists():
        store_demonstration(path, demonstration)
    config = GAILConfig.model_validate({"demo_path": path, "network": {"hidden_units": 16, "num_layers": 2}, **options})
    return GAILReward(signal_context(config, demonstration.spec, name="gail", seed=seed, acts_only=acts_only))


def agents_batch(rows: int = 12, *, seed: int = 7, shift: float = 0.0, terminated: int = 0) -> Batch:
    """Random rows of `SPEC`, of which the last ones terminate."""
    generator = np.random.default_rng(seed)
    seen = {
        "obs.0": generator.normal(shift, 1, (rows, 2)).astype(np.float32),
        "obs.1": generator.normal(-shift, 2, (rows, 3)).astype(np.float32),
    }
    after = {f"next_{name}": array for name, array in seen.items()}
    row = np.arange(rows)
    return make_batch(SPEC, rows, seed=seed, **seen, **after, terminated=row >= rows - terminated, truncated=row < 0)
