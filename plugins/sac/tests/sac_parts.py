"""A trainer on its own, transitions without an environment, and a loop that is just enough to train it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from agents_core.columns import Array, Batch, Columns
from agents_core.contracts.buffer import Buffer, BufferContext
from agents_core.contracts.environment import Actions, BehaviorSteps, Environment
from agents_core.contracts.reward_signal import RewardSignal, RewardSignalContext
from agents_core.contracts.trainer import TrainerContext
from agents_core.experience.transitions import TransitionCollector
from agents_core.learning.extrinsic import ExtrinsicReward
from agents_core.learning.extrinsic_config import ExtrinsicConfig
from agents_core.options import NetworkConfig
from agents_core.replay.buffer import ReplayBuffer
from agents_core.replay.config import ReplayConfig
from agents_core.spec import BehaviorSpec
from agents_core.timers import Timers
from agents_sac.config import SACConfig
from agents_sac.trainer import SACTrainer

CPU = torch.device("cpu")


class ListBuffer(Buffer):
    """Keeps everything in the order in which it came; slow and simple.

    Attributes:
        errors: What `update_priorities` was told last, by row.
        weighted: Whether samples carry a weight of ½.
    """

    def __init__(self, weighted: bool = False) -> None:
        self.table: dict[str, list[Array]] = {}
        self.errors: dict[int, float] = {}
        self.weighted = weighted

    def add(self, transitions: Columns) -> None:
        for name, array in transitions.fields.items():
            self.table.setdefault(name, []).extend(np.array(array))

    def _rows(self, rows: Array) -> dict[str, torch.Tensor]:
        fields = {name: torch.as_tensor(np.stack([column[row] for row in rows])) for name, column in self.table.items()}
        fields["row"] = torch.as_tensor(rows)
        if self.weighted:
            fields["weight"] = torch.full((len(rows),), 0.5)
        return fields

    def sample(self, batch_size: int, generator: np.random.Generator) -> Batch:
        return Batch(self._rows(generator.integers(len(self), size=batch_size)), batch_size)

    def sample_sequences(self, count: int, length: int, generator: np.random.Generator) -> Batch:
        episode = np.array(self.table["episode_id"])
        rows, valid = [], []
        for start in generator.integers(len(self), size=count):
            own = np.flatnonzero(episode == episode[start])
            own = own[own >= start][:length]
            rows += [*own, *[own[-1]] * (length - len(own))]
            valid += [True] * len(own) + [False] * (length - len(own))
        return Batch({**self._rows(np.array(rows)), "is_valid": torch.tensor(valid)}, len(rows))

    def update_priorities(self, rows: torch.Tensor, errors: torch.Tensor) -> None:
        self.errors |= dict(zip(rows.tolist(), errors.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.table.get("reward", ()))

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        raise NotImplementedError


def extrinsic(spec: BehaviorSpec, **options: object) -> ExtrinsicReward:
    """The extrinsic reward with options of its config."""
    config = ExtrinsicConfig.model_validate(options)
    return ExtrinsicReward(RewardSignalContext("extrinsic", config, spec, CPU, np.random.SeedSequence(0), 1000))


def make_trainer(
    spec: BehaviorSpec,
    network: NetworkConfig | None = None,
    *,
    signals: Mapping[str, RewardSignal] | None = None,
    seed: int = 0,
    max_steps: int = 1_000_000,
    make_buffer: Callable[[int], Buffer] | None = lambda _: ListBuffer(),
    **options: object,
) -> SACTrainer:
    """A trainer of behavior `Test` with options of its config, and the extrinsic reward unless signals are given."""
    network = network or NetworkConfig(hidden_units=32, activation="relu")
    signals = {"extrinsic": extrinsic(spec)} if signals is None else signals
    context = TrainerContext(
        "Test",
        spec,
        SACConfig.model_validate({"buffer_init_steps": 0, "batch_size": 32, **options}),
        network,
        signals,
        max_steps,
        CPU,
        np.random.SeedSequence(seed),
        Timers(),
        {},
        make_buffer,
    )
    return SACTrainer(context)


def replay(spec: BehaviorSpec, capacity: int = 20_000) -> Callable[[int], Buffer]:
    """Makes core's own buffer."""
    config = ReplayConfig(buffer_size=capacity)
    return lambda memory_size: ReplayBuffer(BufferContext("Test", config, spec, CPU, memory_size, 1_000_000))


def random_transitions(spec: BehaviorSpec, rows: int, seed: int = 0, *, masked: bool = False) -> Columns:
    """Rows with random contents, in episodes of 5 steps of one agent that end by the task and by a limit in turn."""
    random = np.random.default_rng(seed)
    fields: dict[str, Array] = {}
    for prefix in ("obs", "next_obs"):
        for i, observation in enumerate(spec.observations):
            numbers = random.normal(size=(rows, *observation.shape))
            if observation.dtype == "uint8":
                numbers = random.integers(256, size=numbers.shape)
            fields[f"{prefix}.{i}"] = numbers.astype(observation.numpy_dtype)
    sizes = spec.action.discrete_branches
    for name in ("action_mask", "next_action_mask") if masked else ():
        # The first choice of each branch is always there.
        fields[name] = random.random((rows, sum(sizes))) < 0.6
        fields[name][:, [sum(sizes[:branch]) for branch in range(len(sizes))]] = True
    continuous = random.uniform(-1, 1, (rows, spec.action.continuous_size)).astype(np.float32)
    ended = np.arange(rows) % 5 == 4
    by_task = np.arange(rows) // 5 % 2 == 0
    return Columns(
        {
            **fields,
            "action.continuous": continuous,
            "action.raw": np.arctanh(continuous),
            "action.discrete": np.zeros((rows, len(sizes)), np.int64)
            if masked
            else np.stack([random.integers(size, size=rows) for size in sizes], axis=1)
            if sizes
            else np.empty((rows, 0), np.int64),
            "reward": random.normal(size=rows).astype(np.float32),
            "terminated": ended & by_task,
            "truncated": ended & ~by_task,
            "agent_id": np.zeros(rows, np.int64),
            "episode_id": np.arange(rows) // 5,
            "tick": np.arange(rows),
        }
    )


class Loop:
    """Steps one environment with one behavior and hands its transitions to a trainer.

    Attributes:
        stats: Of the last update.
    """

    def __init__(self, environment: Environment, trainer: SACTrainer) -> None:
        self.environment = environment
        self.trainer = trainer
        steps = environment.reset(seed=1).behaviors
        (self.behavior,) = environment.behavior_specs
        self.collector = TransitionCollector(trainer.policy.spec, trainer.policy.memory_size)
        self._receive(steps)
        self.stats: dict[str, float] = {}

    def train(self, steps: int) -> None:
        """Act, collect and update until the trainer has seen that many steps."""
        while self.collector.steps < steps:
            self._receive(self.environment.step(self._act()).behaviors)
            if self.collector.rows:
                self.trainer.process(self.collector.take(), self.collector.steps)
                if self.trainer.is_ready():
                    self.stats = self.trainer.update()

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
