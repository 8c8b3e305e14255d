"""A small trainer that keeps to the contract: what reward signals are tried with where no plugin may be needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field

from agents_core.columns import Batch, Columns
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.contracts.trainer import Trainer, TrainerContext
from agents_core.generators import generator_state, set_generator_state
from agents_core.learning.choose_gradient import choose_gradient
from agents_core.learning.finite import check_losses, check_weights
from agents_core.learning.gradient import Evaluation, LossWeights
from agents_core.learning.losses import normalise_advantages
from agents_core.learning.optimiser import FlatAdam
from agents_core.learning.returns import generalised_advantages
from agents_core.learning.rollout import extend_batch, mean_stats, rollout_batch
from agents_core.learning.signal_rewards import signal_rewards
from agents_core.learning.signal_states import load_signals
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.initialisation import torch_generator
from agents_core.networks.policy import NetworkPolicy
from agents_core.options import ConfigModel
from agents_core.trajectory import Trajectories

Floats = npt.NDArray[np.floating]

_LAMBDA = 0.95
_WEIGHTS = LossWeights(epsilon=0.2, beta=0.01, value_coefficient=0.5, value_clip_range=None)


class ReferenceConfig(ConfigModel):
    """A clipped policy gradient without options that matter."""

    rollout_size: int = Field(default=64, ge=1, description="Rows of an update.")
    batch_size: int = Field(default=16, ge=1, description="Rows of a minibatch.")
    epochs: int = Field(default=3, ge=1, description="Passes over the rows.")
    learning_rate: float = Field(default=3e-3, gt=0, description="Step size of Adam.")


class ReferenceTrainer(Trainer):
    """One rollout, one value head and one advantage for each signal, some passes over the rows."""

    needs = "trajectories"

    def __init__(self, context: TrainerContext[ReferenceConfig]) -> None:
        self.context = context
        self.config = context.config
        self.signals = dict(context.reward_signals)
        self.valued = [name for name, signal in self.signals.items() if not signal.strength.is_zero]
        self.rollout_size = context.config.rollout_size
        weights, actions, order = context.seed.spawn(3)
        generator = torch_generator(weights)
        self.network = ActorCritic(
            context.spec, context.network, len(self.valued), context.device, generator, context.encoders
        )
        self.policy: NetworkPolicy = NetworkPolicy(self.network, np.random.default_rng(actions))
        self.gradient = choose_gradient(self.network)
        self.optimiser = FlatAdam(self.network.flat)
        self.order = np.random.default_rng(order)
        self.rollout: Trajectories | None = None
        self.step = 0

    def process(self, experience: Trajectories | Columns, step: int) -> None:
        assert isinstance(experience, Trajectories)
        self.rollout, self.step = experience, step

    def is_ready(self) -> bool:
        return self.rollout is not None

    def update(self) -> dict[str, float]:
        rollout = self.rollout
        assert rollout is not None
        batch = rollout_batch(rollout, self.context.device)
        fields: dict[str, Floats] = {}
        stats: dict[str, float] = {}
        for name, signal in self.signals.items():
            raw = self.rewards(name, signal, batch)
            strength = signal.strength.value(self.step, self.context.max_steps)
            fields[f"rewards.{name}"] = raw * np.float32(strength)
            stats |= {f"reward/{name}/raw": float(raw.mean()), f"reward/{name}/scaled": float(raw.mean()) * strength}
        evaluation = self.gradient.evaluate(rollout, batch)
        advantage = np.zeros(len(rollout))
        for head, name in enumerate(self.valued):
            own = self.advantages(self.signals[name], fields[f"rewards.{name}"], evaluation, head)
            values = evaluation.values[:, head]
            fields |= {f"values.{name}": values, f"returns.{name}": own + values}
            advantage += own
        fields |= {"log_prob": evaluation.log_prob, "advantage": normalise_advantages(advantage), **evaluation.fields}
        collected = self.learn(extend_batch(batch, fields, self.context.device))
        check_weights(self.network, self.network.flat.values, self.place())
        self.network.observe(rollout.columns.observations)
        self.rollout = None
        return {**stats, **mean_stats(collected), "train/learning_rate": self.config.learning_rate}

    def rewards(self, name: str, signal: RewardSignal, batch: Batch) -> npt.NDArray[np.float32]:
        """What a signal gives for each row, before its strength."""
        signal.observe(batch)
        return signal_rewards(name, signal, batch, self.place())

    def advantages(self, signal: RewardSignal, rewards: Floats, evaluation: Evaluation, head: int) -> Floats:
        """Generalised advantages of one signal's rewards."""
        rollout = self.rollout
        assert rollout is not None
        terminated = rollout.columns["terminated"][rollout.last_rows] & (not signal.ignores_termination)
        values, final_values = evaluation.values[:, head], evaluation.final_values[:, head]
        return generalised_advantages(rewards, values, rollout.lengths, final_values, terminated, signal.gamma, _LAMBDA)

    def learn(self, rollout: Batch) -> list[Mapping[str, float]]:
        """Some passes over the rows; statistics of each minibatch."""
        self.gradient.load(rollout, self.valued)
        collected: list[Mapping[str, float]] = []
        for _ in range(self.config.epochs):
            for rows in self.gradient.minibatches(len(rollout), self.config.batch_size, self.order):
                losses = self.gradient.compute(rows, _WEIGHTS).stats()
                check_losses(losses, self.place())
                self.optimiser.step(self.config.learning_rate, 0.5)
                collected += [losses, self.update_signals(rollout.take(torch.from_numpy(rows)))]
        return collected

    def update_signals(self, minibatch: Batch) -> dict[str, float]:
        """Train the signals; their statistics."""
        return {
            f"reward/{name}/{key}": value
            for name, signal in self.signals.items()
            for key, value in signal.update(minibatch).items()
        }

    def place(self) -> str:
        """Where an error happened."""
        return f"behavior {self.context.behavior!r}, step {self.step}"

    def policy_state(self) -> dict[str, Any]:
        return self.network.actor_state()

    def load_policy_state(self, state: Mapping[str, Any]) -> None:
        self.network.load_actor_state(state)

    def state_dict(self) -> dict[str, Any]:
        return {
            "critic": self.network.critic_state(),
            "optimiser": self.optimiser.state_dict(),
            "signals": {name: signal.state_dict() for name, signal in self.signals.items()},
            "actions": generator_state(self.policy.generator),
            "order": generator_state(self.order),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.network.load_critic_state(state["critic"])
        self.optimiser.load_state_dict(state["optimiser"])
        load_signals(self.signals, state["signals"])
        set_generator_state(self.policy.generator, state["actions"])
        set_generator_state(self.order, state["order"])
