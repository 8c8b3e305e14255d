"""What signals, trainers and buffers are made with, for tests that make them without a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import torch

from agents_core.contracts.buffer import Buffer, BufferContext
from agents_core.contracts.demonstration import Demonstration
from agents_core.contracts.encoder import ChosenEncoder
from agents_core.contracts.reward_signal import RewardSignal, RewardSignalContext
from agents_core.contracts.trainer import TrainerContext
from agents_core.learning.extrinsic import ExtrinsicReward
from agents_core.learning.extrinsic_config import ExtrinsicConfig
from agents_core.options import NetworkConfig
from agents_core.spec import BehaviorSpec
from agents_core.timers import Timers

ConfigT = TypeVar("ConfigT")

BEHAVIOR = "Test"
MAX_STEPS = 100_000
_NONE: Mapping[str, ChosenEncoder] = MappingProxyType({})


def signal_context(
    config: ConfigT,
    spec: BehaviorSpec,
    *,
    name: str = "signal",
    seed: int = 0,
    device: str = "cpu",
    acts_only: bool = False,
) -> RewardSignalContext[ConfigT]:
    """What a run of `MAX_STEPS` would make a reward signal with."""
    return RewardSignalContext(
        name=name,
        config=config,
        spec=spec,
        device=torch.device(device),
        seed=np.random.SeedSequence(seed),
        max_steps=MAX_STEPS,
        acts_only=acts_only,
    )


def extrinsic_reward(spec: BehaviorSpec, **options: object) -> ExtrinsicReward:
    """The environment's own reward, with options of its config."""
    return ExtrinsicReward(signal_context(ExtrinsicConfig.model_validate(options), spec, name="extrinsic"))


def trainer_context(
    config: ConfigT,
    spec: BehaviorSpec,
    *,
    network: NetworkConfig | None = None,
    signals: Mapping[str, RewardSignal] | None = None,
    seed: int = 0,
    max_steps: int = MAX_STEPS,
    encoders: Mapping[str, ChosenEncoder] = _NONE,
    make_buffer: Callable[[int], Buffer] | None = None,
    demonstration: Demonstration | None = None,
) -> TrainerContext[ConfigT]:
    """What a run would make a trainer with, on the CPU.

    Args:
        config: The trainer's own.
        spec: What the behavior sees and does.
        network: None = the defaults.
        signals: None = the extrinsic reward alone.
        seed: Of everything that the trainer draws.
        max_steps: Length of the run.
        encoders: Chosen ones, by observation.
        make_buffer: Of a trainer that keeps transitions.
        demonstration: Of a trainer that needs nothing else.
    """
    return TrainerContext(
        behavior=BEHAVIOR,
        spec=spec,
        config=config,
        network=network or NetworkConfig(),
        reward_signals={"extrinsic": extrinsic_reward(spec)} if signals is None else signals,
        max_steps=max_steps,
        device=torch.device("cpu"),
        seed=np.random.SeedSequence(seed),
        timers=Timers(),
        encoders=encoders,
        make_buffer=make_buffer,
        demonstration=demonstration,
    )


def buffer_context(
    config: ConfigT, spec: BehaviorSpec, *, memory_size: int = 0, max_steps: int = MAX_STEPS
) -> BufferContext[ConfigT]:
    """What a run would make a buffer with, on the CPU."""
    return BufferContext(BEHAVIOR, config, spec, torch.device("cpu"), memory_size, max_steps)
