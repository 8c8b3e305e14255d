"""A trainer on its own."""

from __future__ import annotations

from typing import Any

from agents_core.options import NetworkConfig
from agents_core.spec import BehaviorSpec
from agents_core.testing.contexts import trainer_context
from agents_ppo.config import PPOConfig
from agents_ppo.trainer import PPOTrainer


def make_trainer(
    spec: BehaviorSpec, config: PPOConfig, network: NetworkConfig | None = None, **options: Any
) -> PPOTrainer:
    """A trainer with a small network; options as of `trainer_context`."""
    return PPOTrainer(trainer_context(config, spec, network=network or NetworkConfig(hidden_units=32), **options))
