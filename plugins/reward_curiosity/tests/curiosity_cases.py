"""Signals to test."""

from __future__ import annotations

from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.contexts import signal_context
from agents_reward_curiosity.config import CuriosityConfig
from agents_reward_curiosity.signal import CuriosityReward

PLACE = ObservationSpec("place", (3,))
SPEC = BehaviorSpec((PLACE,), ActionSpec(2, (3, 2)))
NETWORK = {"hidden_units": 8, "num_layers": 1}


def make_signal(spec: BehaviorSpec = SPEC, **options: object) -> CuriosityReward:
    """A small signal with options of its config."""
    small = {"network": NETWORK, "model_units": 16, "learning_rate": 1e-3}
    return CuriosityReward(signal_context(CuriosityConfig.model_validate({**small, **options}), spec))
