"""The reward signal `gail`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from agents_core.columns import Batch
from agents_core.contracts.demonstration import Demonstration
from agents_core.contracts.reward_signal import RewardSignal, RewardSignalContext
from agents_core.demonstrations import DemonstrationSampler, load_demonstrations
from agents_core.generators import generator_state, set_generator_state
from agents_core.learning.cloning_rows import expert_batch
from agents_core.learning.optimiser import FlatAdam
from agents_core.learning.parts import in_parts
from agents_core.networks.flat import FlatParameters
from agents_core.networks.initialisation import torch_generator
from agents_core.networks.module_state import load_module_state, module_state
from torch import Tensor
from torch.nn.functional import softplus

from agents_reward_gail.absorbing import AbsorbingState
from agents_reward_gail.config import GAILConfig
from agents_reward_gail.discriminator import INFORMATION, Discriminator, cross_entropy
from agents_reward_gail.recent import RecentMean

INFORMATION_STEP = 5e-4
"""How fast the weight of the bottleneck's penalty follows what it holds."""

_log = logging.getLogger(__name__)


class GAILReward(RewardSignal):
    """Pays for what a discriminator takes for the expert's, which learns from both at the same time."""

    def __init__(self, context: RewardSignalContext[GAILConfig]) -> None:
        config = context.config
        self._context = context
        self.strength = config.strength
        self.gamma = config.gamma
        weights, order, mix, noise = context.seed.spawn(4)
        self._discriminator = Discriminator(context, torch_generator(weights))
        self._optimiser = FlatAdam(FlatParameters(self._discriminator))
        self._mix = np.random.default_rng(mix)
        self._noise = torch_generator(noise) if config.use_vail else None
        self._information_weight = 0.0
        self._mean = RecentMean()
        self._expert: _Expert | None = None
        self._absorbing: AbsorbingState | None = None
        if not context.acts_only:
            demonstration = load_demonstrations(config.demo_path, spec=context.spec, registry=context.registry)
            self._prepare(demonstration, order)

    def _prepare(self, demonstration: Demonstration, order: np.random.SeedSequence) -> None:
        config = self._context.config
        self._expert = _Expert(demonstration, order, self._context.device)
        terminations = int(demonstration.episodes.columns["terminated"].sum())
        if config.absorbing:
            self._absorbing = AbsorbingState(self.gamma, terminations / len(demonstration))
        elif config.reward == "positive" and terminations:
            _log.warning(
                "reward signal %r: %d of the expert's %d episodes end by themselves, but a reward that is always "
                "positive pays for living on; set `absorbing: true`",
                self._context.name,
                terminations,
                len(demonstration.episodes.lengths),
            )

    def observe(self, batch: Batch) -> None:
        inputs = self._discriminator.inputs
        inputs.observe(batch.observations)
        inputs.observe(self._experts().sample(len(batch)).observations)
        if self._absorbing is not None:
            self._absorbing.observe(len(batch), int(batch["terminated"].sum()))
        if self._context.config.reward == "centered":
            rewards = self._form(self._logits(batch))
            self._mean.take(len(batch), float(rewards.sum()))

    def evaluate(self, batch: Batch) -> Tensor:
        rewards = self._form(self._logits(batch)) - self._mean.value
        if self._absorbing is None:
            return rewards
        # The value of staying in the absorbing state forever, from the next step on.
        there = float(self._form(torch.tensor(self._absorbing.logit))) - self._mean.value
        afterwards = self.gamma / (1 - self.gamma) * there
        return rewards + batch["terminated"] * afterwards

    def _logits(self, batch: Batch) -> Tensor:
        offset = 0.0 if self._absorbing is None else self._absorbing.offset
        return in_parts(self._discriminator.logits, batch, self._context.spec) + offset

    def _form(self, logits: Tensor) -> Tensor:
        # -log(1 - D) = log(1 + e^logit), and log D - log(1 - D) is the logit itself.
        return logits if self._context.config.reward == "logit" else softplus(logits)

    def update(self, minibatch: Batch) -> dict[str, float]:
        config, discriminator = self._context.config, self._discriminator
        experts = self._experts().sample(len(minibatch))
        expert, policy = discriminator.inputs(experts), discriminator.inputs(minibatch)
        judged_expert = discriminator.judge(expert, self._noise)
        judged_policy = discriminator.judge(policy, self._noise)
        loss = cross_entropy(judged_expert.logits, judged_policy.logits)
        stats = {
            "loss": float(loss.detach()),
            "expert_accuracy": float((judged_expert.logits > 0).float().mean()),
            "policy_accuracy": float((judged_policy.logits < 0).float().mean()),
        }
        if config.gradient_penalty:
            mix = torch.as_tensor(self._mix.random(len(minibatch), np.float32), device=self._context.device)
            penalty = discriminator.slope_penalty(expert, policy, mix)
            loss = loss + config.gradient_penalty * penalty
            stats["gradient_penalty"] = float(penalty.detach())
        if config.use_vail:
            information = (judged_expert.information + judged_policy.information) / 2
            loss = loss + self._information_weight * (information - INFORMATION)
            stats["information"] = float(information.detach())
            step = INFORMATION_STEP * (stats["information"] - INFORMATION)
            self._information_weight = max(0.0, self._information_weight + step)
            stats["information_weight"] = self._information_weight
        self._optimiser.minimise(loss, config.learning_rate)
        return stats

    def _experts(self) -> _Expert:
        if self._expert is None:
            raise RuntimeError("this signal was made to act only, without its demonstrations")
        return self._expert

    def state_dict(self) -> dict[str, Any]:
        return {
            "discriminator": module_state(self._discriminator),
            "optimiser": self._optimiser.state_dict(),
            "information_weight": self._information_weight,
            "mean": self._mean.state_dict(),
            "mix": generator_state(self._mix),
            "noise": None if self._noise is None else generator_state(self._noise),
            "absorbing": None if self._absorbing is None else self._absorbing.state_dict(),
            "sampler": None if self._expert is None else self._expert.sampler.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        load_module_state(self._discriminator, state["discriminator"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._information_weight = float(state["information_weight"])
        self._mean.load_state_dict(state["mean"])
        set_generator_state(self._mix, state["mix"])
        if self._noise is not None and state["noise"] is not None:
            set_generator_state(self._noise, state["noise"])
        if self._absorbing is not None and state["absorbing"] is not None:
            self._absorbing.load_state_dict(state["absorbing"])
        if self._expert is not None and state["sampler"] is not None:
            self._expert.sampler.load_state_dict(state["sampler"])


class _Expert:
    """The demonstrations on the training device, sampled by a generator of their own."""

    def __init__(self, demonstration: Demonstration, seed: np.random.SeedSequence, device: torch.device) -> None:
        self.sampler = DemonstrationSampler(demonstration.episodes.lengths, seed)
        self._batch = expert_batch(demonstration.episodes.columns, device)
        self._device = device

    def sample(self, rows: int) -> Batch:
        """As many rows; all come before any comes again."""
        return self._batch.take(torch.from_numpy(self.sampler.sample(rows)).to(self._device))
