"""Signals to test."""

from __future__ import annotations

from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.contexts import signal_context
from agents_reward_rnd.config import RNDConfig
from agents_reward_rnd.signal import RNDReward

SPEC = BehaviorSpec((ObservationSpec("place", (3,)),), ActionSpec(2, (3, 2)))


def make_signal(spec: BehaviorSpec = SPEC, **options: object) -> RNDReward:
    """A small signal with options of its config."""
    small = {"network": {"hidden_units": 8, "num_layers": 1}, "features": 4, "learning_rate": 1e-3}
    return RNDReward(signal_context(RNDConfig.model_validate({**small, **options}), spec))
