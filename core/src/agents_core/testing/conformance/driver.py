"""A loop that is just enough to train: one environment, one behavior, any trainer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch

from agents_core.contracts.environment import Actions, BehaviorSteps, Environment
from agents_core.contracts.reward_signal import RewardSignal, RewardSignalContext
from agents_core.contracts.trainer import Trainer
from agents_core.experience.collector import Collector, TrajectoryCollector
from agents_core.experience.transitions import TransitionCollector
from agents_core.learning.extrinsic import ExtrinsicReward
from agents_core.learning.extrinsic_config import ExtrinsicConfig
from agents_core.spec import BehaviorSpec

BEHAVIOR = "Conformance"
MAX_STEPS = 100_000
_TIME_HORIZON = 32
_FRUITLESS_STEPS = 200_000


def extrinsic_reward(spec: BehaviorSpec, **options: object) -> RewardSignal:
    """The environment's own reward."""
    config = ExtrinsicConfig.model_validate(options)
    seed = np.random.SeedSequence(0)
    return ExtrinsicReward(RewardSignalContext("extrinsic", config, spec, torch.device("cpu"), seed, MAX_STEPS))


class Driver:
    """Steps an environment and hands what it collects to a trainer.

    Attributes:
        steps: Decisions taken.
        stats: Of every update.
    """

    def __init__(self, environment: Environment, trainer: Trainer, *, seed: int = 1) -> None:
        self.environment = environment
        self.trainer = trainer
        self.stats: list[dict[str, float]] = []
        self.restart(seed)

    @property
    def steps(self) -> int:
        return self.collector.steps

    def restart(self, seed: int) -> None:
        """Reset the environment and forget open episodes."""
        self.collector = make_collector(self.trainer)
        steps = self.environment.reset(seed).behaviors
        (self._behavior,) = self.environment.behavior_specs
        self._receive(steps)

    def updates(self, count: int) -> Driver:
        """Train until that many more updates are done."""
        goal = len(self.stats) + count
        return self.until(lambda: len(self.stats) >= goal)

    def until(self, is_done: Callable[[], bool]) -> Driver:
        """Train until then.

        Raises:
            RuntimeError: The trainer takes in a lot and never updates.
        """
        updated, updated_at = len(self.stats), self.steps
        while not is_done():
            self._step()
            if self.collector.rows >= max(self.trainer.rollout_size, 1):
                self._learn()
            if len(self.stats) > updated:
                updated, updated_at = len(self.stats), self.steps
            elif self.steps - updated_at > _FRUITLESS_STEPS:
                raise RuntimeError(f"no update in {_FRUITLESS_STEPS} steps")
        return self

    def _learn(self) -> None:
        self.trainer.process(self.collector.take(), self.steps)
        if self.trainer.is_ready():
            self.stats.append(self.trainer.update())

    def _step(self) -> None:
        actions: dict[str, Actions] = {}
        decision = self.collector.decision
        if decision is not None:
            chosen = self.trainer.policy.act(
                self.collector.observations, decision.action_mask, memory=self.collector.memory
            )
            self.collector.record(chosen)
            actions[self._behavior] = chosen
        self._receive(self.environment.step(actions).behaviors)

    def _receive(self, steps: Mapping[str, BehaviorSteps]) -> None:
        if self._behavior in steps:
            self.collector.receive(steps[self._behavior])
            self.collector.pop_episodes()
        else:
            self.collector.wait()


def make_collector(trainer: Trainer) -> Collector:
    """What collects the experience that the trainer needs."""
    policy = trainer.policy
    if trainer.needs == "transitions":
        return TransitionCollector(policy.spec, policy.memory_size)
    return TrajectoryCollector(policy.spec, trainer.rollout_size, _TIME_HORIZON, policy.memory_size)
