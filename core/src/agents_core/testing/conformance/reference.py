"""A small trainer that keeps to the contract: what reward signals are tried with where no plugin may be needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field

from agents_core.columns import Columns
from agents_core.contracts.trainer import Trainer, TrainerContext
from agents_core.generators import generator_state, set_generator_state
from agents_core.learning.choose_gradient import choose_gradient
from agents_core.learning.finite import check_losses, check_weights
from agents_core.learning.gradient import LossWeights
from agents_core.learning.losses import normalise_advantages
from agents_core.learning.optimiser import FlatAdam
from agents_core.learning.returns import generalised_advantages
from agents_core.learning.rollout import extend_batch, mean_stats, rollout_batch
from agents_core.learning.signal_rewards import signal_rewards
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.initialisation import torch_generator
from agents_core.networks.policy import NetworkPolicy
from agents_core.options import ConfigModel
from agents_core.trajectory import Trajectories

Floats = npt.NDArray[np.floating]

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
            signal.observe(batch)
            raw = signal_rewards(name, signal, batch, self.place())
            strength = signal.strength.value(self.step, self.context.max_steps)
            fields[f"rewards.{name}"] = raw * np.float32(strength)
            stats |= {f"reward/{name}/raw": float(raw.mean()), f"reward/{name}/scaled": float(raw.mean()) * strength}
        evaluation = self.gradient.evaluate(rollout, batch)
        advantage = np.zeros(len(rollout))
        terminated = rollout.columns["terminated"][rollout.last_rows]
        for head, name in enumerate(self.valued):
            signal, values = self.signals[name], evaluation.values[:, head]
            own = generalised_advantages(
                fields[f"rewards.{name}"],
                values,
                rollout.lengths,
                evaluation.final_values[:, head],
                terminated & (not signal.ignores_termination),
                signal.gamma,
                0.95,
            )
            fields |= {f"values.{name}": values, f"returns.{name}": own + values}
            advantage += own
        fields |= {"log_prob": evaluation.log_prob, "advantage": normalise_advantages(advantage), **evaluation.fields}
        self.gradient.load(learned := extend_batch(batch, fields, self.context.device), self.valued)
        collected: list[Mapping[str, float]] = []
        for _ in range(self.config.epochs):
            for rows in self.gradient.minibatches(len(rollout), self.config.batch_size, self.order):
                losses = self.gradient.compute(rows, _WEIGHTS).stats()
                check_losses(losses, self.place())
                self.optimiser.step(self.config.learning_rate, 0.5)
                collected.append(losses)
                minibatch = learned.take(torch.from_numpy(rows).to(self.context.device))
                for name, signal in self.signals.items():
                    collected.append({f"reward/{name}/{key}": value for key, value in signal.update(minibatch).items()})
        check_weights(self.network, self.network.flat.values, self.place())
        self.network.observe(rollout.columns.observations)
        self.rollout = None
        return {**stats, **mean_stats(collected), "train/learning_rate": self.config.learning_rate}

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
        for name, signal in self.signals.items():
            signal.load_state_dict(state["signals"][name])
        set_generator_state(self.policy.generator, state["actions"])
        set_generator_state(self.order, state["order"])
