"""A trainer on its own, and a loop that is just enough to train it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from agents_core.contracts.encoder import ChosenEncoder
from agents_core.contracts.environment import Actions, BehaviorSteps, Environment
from agents_core.contracts.reward_signal import RewardSignal, RewardSignalContext
from agents_core.contracts.trainer import TrainerContext
from agents_core.experience.collector import TrajectoryCollector
from agents_core.learning.extrinsic import ExtrinsicReward
from agents_core.learning.extrinsic_config import ExtrinsicConfig
from agents_core.options import NetworkConfig
from agents_core.spec import BehaviorSpec
from agents_core.timers import Timers
from agents_core.trajectory import Trajectories
from agents_ppo.config import PPOConfig
from agents_ppo.trainer import PPOTrainer

CPU = torch.device("cpu")


def extrinsic(spec: BehaviorSpec, **options: object) -> ExtrinsicReward:
    """The extrinsic reward with options of its config."""
    config = ExtrinsicConfig.model_validate(options)
    return ExtrinsicReward(RewardSignalContext("extrinsic", config, spec, CPU, np.random.SeedSequence(0), 1000))


def make_trainer(
    spec: BehaviorSpec,
    config: PPOConfig,
    network: NetworkConfig | None = None,
    *,
    signals: Mapping[str, RewardSignal] | None = None,
    seed: int = 0,
    max_steps: int = 1_000_000,
    encoders: Mapping[str, ChosenEncoder] | None = None,
) -> PPOTrainer:
    """A trainer of behavior `Test`, with the extrinsic reward unless signals are given."""
    network = network or NetworkConfig(hidden_units=32)
    signals = {"extrinsic": extrinsic(spec)} if signals is None else signals
    context = TrainerContext(
        "Test", spec, config, network, signals, max_steps, CPU, np.random.SeedSequence(seed), Timers(), encoders or {}
    )
    return PPOTrainer(context)


class Loop:
    """Steps one environment with one behavior and hands rollouts to a trainer.

    Attributes:
        returns: Of every episode that ended.
        stats: Of the last update.
    """

    def __init__(self, environment: Environment, trainer: PPOTrainer, time_horizon: int = 64) -> None:
        self.environment = environment
        self.trainer = trainer
        steps = environment.reset(seed=1).behaviors
        (self.behavior,) = environment.behavior_specs
        policy = trainer.policy
        self.collector = TrajectoryCollector(policy.spec, trainer.rollout_size, time_horizon, policy.memory_size)
        self._receive(steps)
        self.returns: list[float] = []
        self.stats: dict[str, float] = {}

    def rollout(self) -> Trajectories:
        """Collect one rollout."""
        while self.collector.rows < self.trainer.rollout_size:
            self._receive(self.environment.step(self._act()).behaviors)
            self.returns += self.collector.pop_episodes().returns.tolist()
        return self.collector.take()

    def _act(self) -> dict[str, Actions]:
        decision = self.collector.decision
        if decision is None:
            return {}
        actions = self.trainer.policy.act(
            self.collector.observations, decision.action_mask, memory=self.collector.memory
        )
        self.collector.record(actions)
        return {self.behavior: actions}

    def _receive(self, steps: Mapping[str, BehaviorSteps]) -> None:
        if self.behavior in steps:
            self.collector.receive(steps[self.behavior])
        else:
            self.collector.wait()

    def train(self, steps: int) -> None:
        """Collect and update until the trainer has seen that many steps."""
        while self.collector.steps < steps:
            self.trainer.process(self.rollout(), self.collector.steps)
            self.stats = self.trainer.update()

    def evaluate(self, episodes: int) -> float:
        """Mean return of the most likely actions."""
        steps = self.environment.reset(seed=77).behaviors[self.behavior]
        running = np.zeros(len(steps.decision))
        memory = np.zeros((len(running), self.trainer.policy.memory_size), np.float32)
        finished: list[float] = []
        while len(finished) < episodes:
            decision = steps.decision
            actions = self.trainer.policy.act(
                decision.observations, decision.action_mask, memory=memory, deterministic=True
            )
            if actions.memory is not None:
                memory = actions.memory.copy()
            steps = self.environment.step({self.behavior: actions}).behaviors[self.behavior]
            running[steps.terminal.agent_id] += steps.terminal.reward
            finished += running[steps.terminal.agent_id].tolist()
            running[steps.terminal.agent_id] = 0
            memory[steps.terminal.agent_id] = 0
            running[steps.decision.agent_id] += steps.decision.reward
        return float(np.mean(finished))
