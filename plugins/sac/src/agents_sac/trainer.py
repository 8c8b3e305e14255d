"""Soft Actor-Critic (Haarnoja et al. 2018)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from agents_core.columns import Batch, Columns
from agents_core.contracts.buffer import Buffer
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.contracts.trainer import Trainer, TrainerContext
from agents_core.errors import UserError
from agents_core.generators import generator_state, set_generator_state
from agents_core.learning.cloning import BehavioralCloning, load_cloning
from agents_core.learning.finite import check_losses, check_weights
from agents_core.learning.optimiser import FlatAdam
from agents_core.learning.rollout import mean_stats
from agents_core.learning.signal_rewards import update_signals
from agents_core.learning.signal_states import load_signals
from agents_core.trajectory import Trajectories

from agents_sac.choose_gradient import choose_gradient
from agents_sac.config import SACConfig
from agents_sac.minibatch import SignalRewards
from agents_sac.networks import SoftActorCritic
from agents_sac.pace import Pace
from agents_sac.policy import SoftPolicy
from agents_sac.sampling import choose_sampler
from agents_sac.temperature import Temperature

_log = logging.getLogger(__name__)


class SACTrainer(Trainer):
    """Keeps transitions, and takes steps of critics, policy and temperature over minibatches of them."""

    needs = "transitions"

    def __init__(self, context: TrainerContext[SACConfig]) -> None:
        self._context = context
        self._config = config = context.config
        self._signals = dict(context.reward_signals)
        self._learning_signals = {
            name: signal for name, signal in self._signals.items() if type(signal).update is not RewardSignal.update
        }
        self._rewards = SignalRewards(self._signals, f"behavior {context.behavior!r}")

        weights, actions, noise, sampling, cloning = context.seed.spawn(5)
        self._networks = SoftActorCritic(
            context.behavior,
            context.spec,
            context.network,
            self._rewards.count,
            context.device,
            weights,
            context.encoders,
        )
        self._temperature = Temperature(context.spec.action, config, context.device)
        self._generators = {
            "actions": np.random.default_rng(actions),
            "noise": np.random.default_rng(noise),
            "sampling": np.random.default_rng(sampling),
        }
        self.policy: SoftPolicy = SoftPolicy(self._networks.actor, self._generators["actions"])
        self.buffer: Buffer | None = None
        if context.make_buffer is not None:
            self.buffer = context.make_buffer(self.policy.memory_size)
        self._sampler = choose_sampler(self._networks, self._rewards, context, self._generators["sampling"])
        if self.buffer is not None:
            self._check_that_it_learns(self.buffer)
        self._gradient = choose_gradient(self._networks, self._temperature, self._generators["noise"])
        self._actor_optimiser = FlatAdam(self._networks.actor.flat, epsilon=1e-8)
        self._critic_optimiser = FlatAdam(self._networks.critics.flat, epsilon=1e-8)
        self._cloning = self._load_cloning(cloning)

        self._step = self._rows_seen = 0
        self._is_enough = False  # Whether there is enough to learn from.
        self._act_randomly_until(config.buffer_init_steps)
        self._pace = Pace(config.steps_per_update)
        self._signal_pace = None
        if self._learning_signals and config.reward_signal_steps_per_update is not None:
            self._signal_pace = Pace(config.reward_signal_steps_per_update)

    def _check_that_it_learns(self, buffer: Buffer) -> None:
        """Refuse a buffer that no minibatch can come from; warn of a run that ends before anything is learned.

        Raises:
            UserError: Names the options.
        """
        behavior, fewest, starts = self._context.behavior, self._sampler.fewest_rows, self._config.buffer_init_steps
        if buffer.capacity is not None and buffer.capacity < fewest:
            raise UserError(
                f"behavior {behavior!r}: trainer.buffer keeps {buffer.capacity} transitions, too few for "
                f"trainer.batch_size ({fewest}); make the buffer larger"
            )
        name, steps = ("buffer_init_steps", starts) if starts >= fewest else ("batch_size", fewest)
        if steps >= self._context.max_steps:
            _log.warning(
                "behavior %r: trainer.%s (%d) leaves nothing of max_steps (%d) to learn in",
                behavior,
                name,
                steps,
                self._context.max_steps,
            )

    def _load_cloning(self, seed: np.random.SeedSequence) -> BehavioralCloning | None:
        section, context = self._config.behavioral_cloning, self._context
        if section is None or context.acts_only:
            return None
        return load_cloning(self._networks.actor, section, self._config.batch_size, context, seed)

    def process(self, experience: Trajectories | Columns, step: int) -> None:
        """Let normalisers and signals see new transitions, and keep them."""
        if not isinstance(experience, Columns):
            raise TypeError(f"SAC needs transitions, not {type(experience).__name__}")
        if self.buffer is None:
            raise RuntimeError("a trainer that was made to act only has no buffer to learn from")
        self._step = step
        self._networks.actor.observe(experience.observations)
        batch = _as_batch(experience, self._context.device)
        for signal in self._signals.values():
            signal.observe(batch)
        self.buffer.add(experience)
        self._rows_seen += len(experience)

        self.policy.is_random = step < self._random_until
        self._is_enough = self._has_enough(self.buffer) and step >= self._config.buffer_init_steps
        if self._is_enough:
            self._pace.steps += len(experience)
            if self._signal_pace is not None:
                self._signal_pace.steps += len(experience)

    def _has_enough(self, buffer: Buffer) -> bool:
        """Whether there is enough to sample a minibatch from.

        Raises:
            UserError: There never will be.
        """
        fewest = self._sampler.fewest_rows
        if len(buffer) < fewest <= self._rows_seen // 2:
            raise UserError(
                f"behavior {self._context.behavior!r}: of {self._rows_seen} transitions trainer.buffer kept "
                f"{len(buffer)}, too few for trainer.batch_size ({fewest}); make the buffer larger"
            )
        return len(buffer) >= fewest

    def _act_randomly_until(self, step: int) -> None:
        self._random_until = step
        self.policy.is_random = self._step < step

    def is_ready(self) -> bool:
        is_due = self._pace.due > 0 or (self._signal_pace is not None and self._signal_pace.due > 0)
        return self._is_enough and is_due

    def update(self) -> dict[str, float]:
        if self.buffer is None or not self.is_ready():
            raise RuntimeError("nothing to learn from: call `process` first")
        learning_rate = self._config.learning_rate.value(self._step, self._context.max_steps)
        collected = [self._update_once(self.buffer, learning_rate) for _ in range(self._pace.take())]
        if self._signal_pace is not None:
            for _ in range(self._signal_pace.take()):
                batch = self.buffer.sample(self._config.batch_size, self._generators["sampling"])
                collected.append(update_signals(self._learning_signals, batch, self._place()))
        networks = self._networks
        check_weights(networks.critics, networks.critics.flat.values, self._place())
        check_weights(networks.actor, networks.actor.flat.values, self._place())
        return {**mean_stats(collected), "train/learning_rate": learning_rate}

    def _update_once(self, buffer: Buffer, learning_rate: float) -> dict[str, float]:
        """One step of critics, policy, temperature and targets (Haarnoja et al. 2018, algorithm 1)."""
        config, networks, temperature = self._config, self._networks, self._temperature
        sample = self._sampler.sample(buffer, self._strengths())
        alpha = temperature.alpha()

        critic = self._gradient.critic(sample.minibatch, sample.views, alpha)
        check_losses({"train/value_loss": critic.loss}, self._place())
        self._critic_optimiser.step(learning_rate, config.max_grad_norm)

        policy = self._gradient.policy(sample.minibatch, sample.views, alpha)
        check_losses({"train/policy_loss": policy.loss}, self._place())
        self._actor_optimiser.step(learning_rate, config.max_grad_norm)

        temperature.step(policy.mean_excess, learning_rate)
        networks.follow(config.tau)
        buffer.update_priorities(sample.minibatch.batch["row"], critic.errors)
        stats = {
            **sample.stats,
            "train/value_loss": critic.loss,
            "train/policy_loss": policy.loss,
            "train/entropy": policy.entropy,
            "train/mean_q": critic.mean_q,
            **{f"train/{name}": value for name, value in zip(temperature.names, alpha.tolist(), strict=True)},
        }
        if self._learning_signals and self._signal_pace is None:
            stats |= update_signals(self._learning_signals, sample.transitions, self._place())
        if self._cloning is not None:
            stats |= self._cloning.update(self._step, learning_rate)
        return stats

    def _strengths(self) -> dict[str, float]:
        step, max_steps = self._step, self._context.max_steps
        return {name: signal.strength.value(step, max_steps) for name, signal in self._signals.items()}

    def _place(self) -> str:
        return f"behavior {self._context.behavior!r}, step {self._step}"

    def policy_state(self) -> dict[str, Any]:
        return self._networks.actor.actor_state()

    def load_policy_state(self, state: Mapping[str, Any]) -> None:
        self._networks.actor.load_actor_state(state)
        self._act_randomly_until(0)

    def state_dict(self) -> dict[str, Any]:
        return {
            **self._networks.critic_state(),
            "temperature": self._temperature.state(),
            "optimisers": {"actor": self._actor_optimiser.state_dict(), "critics": self._critic_optimiser.state_dict()},
            "signals": {name: signal.state_dict() for name, signal in self._signals.items()},
            "generators": {name: generator_state(generator) for name, generator in self._generators.items()},
            "step": self._step,
            "pace": self._pace.steps,
            "signal_pace": None if self._signal_pace is None else self._signal_pace.steps,
            "cloning": None if self._cloning is None else self._cloning.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._networks.load_critic_state(state)
        self._temperature.load_state(state["temperature"])
        self._actor_optimiser.load_state_dict(state["optimisers"]["actor"])
        self._critic_optimiser.load_state_dict(state["optimisers"]["critics"])
        load_signals(self._signals, state["signals"])
        for name, generator in self._generators.items():
            set_generator_state(generator, state["generators"][name])
        self._step = state["step"]
        if self._step < self._config.buffer_init_steps:  # Else a run that starts with these weights acts by them.
            self._act_randomly_until(self._config.buffer_init_steps)
        self._pace.go_on(state["pace"])
        if self._signal_pace is not None and state["signal_pace"] is not None:
            self._signal_pace.go_on(state["signal_pace"])
        if self._cloning is not None and state["cloning"] is not None:
            self._cloning.load_state_dict(state["cloning"])


def _as_batch(columns: Columns, device: torch.device) -> Batch:
    """The columns on the training device; a field goes there when it is first read."""
    return Batch(
        {name: partial(torch.as_tensor, array, device=device) for name, array in columns.fields.items()}, len(columns)
    )
