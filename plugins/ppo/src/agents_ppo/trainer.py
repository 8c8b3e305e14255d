"""Proximal Policy Optimization (Schulman et al. 2017)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from agents_core.columns import Batch, Columns
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.contracts.trainer import Trainer, TrainerContext
from agents_core.generators import generator_state, set_generator_state
from agents_core.learning.choose_gradient import choose_gradient
from agents_core.learning.cloning import BehavioralCloning, load_cloning
from agents_core.learning.finite import check_losses, check_weights
from agents_core.learning.gradient import Evaluation, LossWeights
from agents_core.learning.losses import explained_variance, normalise_advantages
from agents_core.learning.optimiser import FlatAdam
from agents_core.learning.returns import generalised_advantages
from agents_core.learning.rollout import extend_batch, mean_stats, rollout_batch
from agents_core.learning.signal_rewards import signal_rewards, update_signals
from agents_core.learning.signal_states import load_signals
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.initialisation import torch_generator
from agents_core.networks.policy import NetworkPolicy
from agents_core.schedules import Schedule
from agents_core.trajectory import Trajectories

from agents_ppo.config import PPOConfig


class PPOTrainer(Trainer):
    """Collects a rollout, estimates advantages, and takes clipped policy-gradient steps over it for several epochs."""

    needs = "trajectories"

    def __init__(self, context: TrainerContext[PPOConfig]) -> None:
        self._context = context
        self._config = context.config
        self.rollout_size = context.config.buffer_size
        self._signals = dict(context.reward_signals)
        self._learning_signals = {
            name: signal for name, signal in self._signals.items() if type(signal).update is not RewardSignal.update
        }
        self._valued = [name for name, signal in self._signals.items() if not signal.strength.is_zero]

        weights, actions, order, cloning = context.seed.spawn(4)
        self._network = ActorCritic(
            context.spec,
            context.network,
            len(self._valued),
            context.device,
            torch_generator(weights),
            context.encoders,
            initial_std=context.config.initial_std,
        )
        self.policy: NetworkPolicy = NetworkPolicy(self._network, np.random.default_rng(actions))
        self._gradient = choose_gradient(self._network)
        self._optimiser = FlatAdam(self._network.flat)
        self._order = np.random.default_rng(order)
        self._cloning = self._load_cloning(cloning)

        self._step = 0
        self._trajectories: Trajectories | None = None
        self._rollout: Batch | None = None
        self._rollout_stats: dict[str, float] = {}

    def _load_cloning(self, seed: np.random.SeedSequence) -> BehavioralCloning | None:
        section, context = self._config.behavioral_cloning, self._context
        if section is None or context.acts_only:
            return None
        return load_cloning(self._network, section, self._config.batch_size, context, seed)

    def process(self, experience: Trajectories | Columns, step: int) -> None:
        """Evaluate rewards, values and old log-probabilities of a rollout once, and estimate its advantages."""
        if not isinstance(experience, Trajectories):
            raise TypeError(f"PPO needs trajectories, not {type(experience).__name__}")
        if self._rollout is not None:
            raise RuntimeError("the rollout before was not learned from: call `update` when `is_ready`")
        self._step = step
        timers = self._context.timers
        batch = rollout_batch(experience, self._context.device)
        with timers.time("rewards"):
            fields = self._evaluate_signals(batch)
        with timers.time("values"):
            evaluation = self._gradient.evaluate(experience, batch)
        fields |= {"log_prob": evaluation.log_prob, **evaluation.fields}
        with timers.time("advantages"):
            advantage = self._estimate_advantages(experience, evaluation, fields)
        fields["advantage"] = normalise_advantages(advantage) if self._config.normalize_advantage else advantage
        self._trajectories = experience
        self._rollout = extend_batch(batch, fields, self._context.device)

    def _evaluate_signals(self, batch: Batch) -> dict[str, npt.NDArray[np.floating]]:
        """`rewards.<signal>` of every signal, scaled by its strength."""
        fields: dict[str, npt.NDArray[np.floating]] = {}
        for name, signal in self._signals.items():
            signal.observe(batch)
            raw = signal_rewards(name, signal, batch, self._place())
            strength = signal.strength.value(self._step, self._context.max_steps)
            fields[f"rewards.{name}"] = raw * np.float32(strength)
            self._rollout_stats[f"reward/{name}/raw"] = float(raw.mean())
            self._rollout_stats[f"reward/{name}/scaled"] = float(raw.mean()) * strength
        return fields

    def _estimate_advantages(
        self,
        trajectories: Trajectories,
        evaluation: Evaluation,
        fields: dict[str, npt.NDArray[np.floating]],
    ) -> npt.NDArray[np.float64]:
        """Sum of the signals' advantages, float64[n]; adds `values.<signal>` and `returns.<signal>` to the fields."""
        values = evaluation.values
        terminated = trajectories.columns["terminated"][trajectories.last_rows]
        total = np.zeros(len(trajectories))
        for head, name in enumerate(self._valued):
            signal = self._signals[name]
            advantages = generalised_advantages(
                fields[f"rewards.{name}"],
                values[:, head],
                trajectories.lengths,
                evaluation.final_values[:, head],
                terminated & (not signal.ignores_termination),
                signal.gamma,
                self._config.lambd,
            )
            fields[f"values.{name}"] = values[:, head]
            fields[f"returns.{name}"] = advantages + values[:, head]
            total += advantages
        returns = total + values.sum(axis=1, dtype=np.float64)
        explained = explained_variance(values.sum(axis=1), returns)
        if explained is not None:
            self._rollout_stats["train/explained_variance"] = explained
        return total

    def is_ready(self) -> bool:
        return self._rollout is not None

    def update(self) -> dict[str, float]:
        if self._rollout is None or self._trajectories is None:
            raise RuntimeError("nothing to learn from: call `process` first")
        rollout, config = self._rollout, self._config
        weights, learning_rate = self._loss_weights(), self._scheduled(config.learning_rate)
        self._gradient.load(rollout, self._valued)
        collected: list[dict[str, float]] = []
        policy_learns = True

        for _ in range(config.num_epoch):
            for rows in self._gradient.minibatches(len(rollout), config.batch_size, self._order):
                if policy_learns:
                    losses = self._gradient.compute(rows, weights)
                    collected.append(losses.stats())
                    check_losses(collected[-1], self._place())
                    policy_learns = config.target_kl is None or losses.approx_kl <= config.target_kl
                if policy_learns:
                    self._optimiser.step(learning_rate, config.max_grad_norm)
                if self._learning_signals:
                    collected.append(self._update_signals(rollout, rows))
        check_weights(self._network, self._network.flat.values, self._place())
        cloned = {} if self._cloning is None else self._cloning.update(self._step, learning_rate)
        self._network.observe(self._trajectories.columns.observations)

        stats = {**self._rollout_stats, **mean_stats(collected), **cloned, "train/learning_rate": learning_rate}
        self._rollout, self._trajectories, self._rollout_stats = None, None, {}
        return stats

    def _update_signals(self, rollout: Batch, rows: npt.NDArray[np.int64]) -> dict[str, float]:
        minibatch = rollout.take(torch.from_numpy(rows).to(self._context.device))
        return update_signals(self._learning_signals, minibatch, self._place())

    def _loss_weights(self) -> LossWeights:
        config = self._config
        return LossWeights(
            epsilon=self._scheduled(config.epsilon),
            beta=self._scheduled(config.beta),
            value_coefficient=config.vf_coef,
            value_clip_range=config.value_clip_range,
        )

    def _scheduled(self, schedule: Schedule) -> float:
        return schedule.value(self._step, self._context.max_steps)

    def _place(self) -> str:
        return f"behavior {self._context.behavior!r}, step {self._step}"

    def policy_state(self) -> dict[str, Any]:
        return self._network.actor_state()

    def load_policy_state(self, state: Mapping[str, Any]) -> None:
        self._network.load_actor_state(state)

    def state_dict(self) -> dict[str, Any]:
        return {
            "critic": self._network.critic_state(),
            "optimiser": self._optimiser.state_dict(),
            "signals": {name: signal.state_dict() for name, signal in self._signals.items()},
            "generators": {
                "actions": generator_state(self.policy.generator),
                "order": generator_state(self._order),
            },
            "cloning": None if self._cloning is None else self._cloning.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._network.load_critic_state(state["critic"])
        self._optimiser.load_state_dict(state["optimiser"])
        load_signals(self._signals, state["signals"])
        set_generator_state(self.policy.generator, state["generators"]["actions"])
        set_generator_state(self._order, state["generators"]["order"])
        if self._cloning is not None and state["cloning"] is not None:
            self._cloning.load_state_dict(state["cloning"])
