"""REINFORCE (Williams 1992): each action becomes more likely the more was earned from there on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from agents_core.columns import Batch, Columns
from agents_core.contracts.trainer import Trainer, TrainerContext
from agents_core.errors import UserError
from agents_core.generators import generator_state, set_generator_state
from agents_core.learning.finite import check_losses, check_weights
from agents_core.learning.gradient import action_columns
from agents_core.learning.losses import normalise_advantages
from agents_core.learning.optimiser import FlatAdam
from agents_core.learning.returns import linear_recurrence
from agents_core.learning.rollout import rollout_batch
from agents_core.learning.signal_rewards import signal_rewards
from agents_core.learning.signal_states import load_signals
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.distributions import log_prob_and_entropy
from agents_core.networks.initialisation import torch_generator
from agents_core.networks.policy import NetworkPolicy
from agents_core.trajectory import Trajectories

from agents_reinforce.config import ReinforceConfig


class ReinforceTrainer(Trainer):
    """One step along the policy gradient for each rollout; a trajectory that is cut counts as an episode that ended."""

    needs = "trajectories"

    def __init__(self, context: TrainerContext[ReinforceConfig]) -> None:
        if context.network.memory is not None:
            raise UserError(f"behavior '{context.behavior}': REINFORCE has no memory here; remove network.memory")
        self._context = context
        self.rollout_size = context.config.buffer_size
        weights, actions = context.seed.spawn(2)
        self._network = ActorCritic(
            context.spec, context.network, 0, context.device, torch_generator(weights), context.encoders
        )
        self.policy: NetworkPolicy = NetworkPolicy(self._network, np.random.default_rng(actions))
        self._optimiser = FlatAdam(self._network.flat)
        self._trajectories: Trajectories | None = None
        self._step = 0

    def process(self, experience: Trajectories | Columns, step: int) -> None:
        if not isinstance(experience, Trajectories):
            raise TypeError(f"REINFORCE needs trajectories, not {type(experience).__name__}")
        self._trajectories, self._step = experience, step

    def is_ready(self) -> bool:
        return self._trajectories is not None

    def update(self) -> dict[str, float]:
        if self._trajectories is None:
            raise RuntimeError("nothing to learn from: call `process` first")
        trajectories, network, place = self._trajectories, self._network, f"behavior {self._context.behavior!r}"
        batch, stats = rollout_batch(trajectories, self._context.device), dict[str, float]()
        # The mean over the rollout is the baseline.
        returns = normalise_advantages(self._returns(trajectories, batch, stats))
        advantage = torch.as_tensor(returns, dtype=torch.float32, device=self._context.device)

        outputs = network.act(batch.observations)
        log_prob, entropy = log_prob_and_entropy(outputs, network.log_std, action_columns(batch), network.form)
        loss = -(log_prob * advantage).mean()  # its gradient: -mean(∇log π(a|s) · (G - mean G) / std G)
        stats |= {"train/policy_loss": loss.item(), "train/entropy": entropy.mean().item()}
        check_losses(stats, place)
        network.flat.differentiate(loss)
        learning_rate = self._context.config.learning_rate.value(self._step, self._context.max_steps)
        self._optimiser.step(learning_rate)
        check_weights(network, network.flat.values, place)
        network.observe(trajectories.columns.observations)
        self._trajectories = None
        return {**stats, "train/learning_rate": learning_rate}

    def _returns(self, trajectories: Trajectories, batch: Batch, stats: dict[str, float]) -> npt.NDArray[np.float64]:
        """What was earned from each row on, G_t = r_t + γ G_{t+1}, summed over the signals: float64[n]."""
        total = np.zeros(len(batch))
        for name, signal in self._context.reward_signals.items():
            signal.observe(batch)
            raw = signal_rewards(name, signal, batch, f"behavior {self._context.behavior!r}")
            scaled = raw * signal.strength.value(self._step, self._context.max_steps)
            total += linear_recurrence(scaled[::-1], trajectories.lengths[::-1], signal.gamma)[::-1]
            stats |= {f"reward/{name}/raw": float(raw.mean()), f"reward/{name}/scaled": float(scaled.mean())}
            stats |= {f"reward/{name}/{key}": value for key, value in signal.update(batch).items()}
        return total

    def policy_state(self) -> dict[str, Any]:
        return self._network.actor_state()

    def load_policy_state(self, state: Mapping[str, Any]) -> None:
        self._network.load_actor_state(state)

    def state_dict(self) -> dict[str, Any]:
        signals = {name: signal.state_dict() for name, signal in self._context.reward_signals.items()}
        actions = generator_state(self.policy.generator)
        return {"optimiser": self._optimiser.state_dict(), "signals": signals, "actions": actions}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._optimiser.load_state_dict(state["optimiser"])
        load_signals(self._context.reward_signals, state["signals"])
        set_generator_state(self.policy.generator, state["actions"])
