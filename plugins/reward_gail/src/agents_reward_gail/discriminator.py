"""The discriminator of Ho & Ermon (2016), its gradient penalty, and the bottleneck of Peng et al. (2019)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from agents_core.columns import Batch
from agents_core.contracts.reward_signal import RewardSignalContext
from agents_core.networks.body import Body
from agents_core.networks.initialisation import Initialiser
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import softplus

from agents_reward_gail.config import GAILConfig
from agents_reward_gail.inputs import DiscriminatorInputs, Inputs

LIMIT = 10.0
"""Bound of |logit|: D stays between 5e-5 and 1 - 5e-5, and rewards finite and distinct, however sure it is."""

BOTTLENECK = 128
"""Numbers that a variational discriminator judges by."""

INFORMATION = 0.5
"""Nats that these may hold of what is seen, in the mean; more is penalised."""

_SLOPE_EPSILON = 1e-7
_SCORE_GAIN = 0.2


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the discriminator makes of some rows.

    Attributes:
        logits: float32[n], log D - log(1 - D), where D is the probability that a row is the expert's.
        information: Mean over rows of KL(N(μ, σ²) | N(0, 1)) of the bottleneck; 0 without one.
    """

    logits: Tensor
    information: Tensor


class Discriminator(nn.Module):
    """Tells the expert's rows from the agents'.

    Attributes:
        inputs: What it sees.
    """

    def __init__(self, context: RewardSignalContext[GAILConfig], generator: torch.Generator) -> None:
        super().__init__()
        config, network = context.config, context.config.network
        self.inputs = DiscriminatorInputs(
            context.spec,
            use_actions=config.use_actions,
            normalize=network.normalize,
            chosen=context.encoders,
            device=context.device,
        )
        spec = self.inputs.spec
        self.body = Body(spec, network, self.inputs.encoders, [None] * len(spec.observations), generator)
        make = Initialiser(network.initialization, generator).linear
        self.bottleneck = make(self.body.output_size, BOTTLENECK, gain=1.0) if config.use_vail else None
        self.log_std = nn.Parameter(torch.zeros(BOTTLENECK if config.use_vail else 0))
        self.score = make(BOTTLENECK if config.use_vail else self.body.output_size, 1, gain=_SCORE_GAIN)
        self.to(context.device)

    def logits(self, batch: Batch) -> Tensor:
        """log D - log(1 - D) of each row, float32[n], without the bottleneck's noise."""
        return self.judge(self.inputs(batch)).logits

    def judge(self, inputs: Inputs, noise: torch.Generator | None = None) -> Judgement:
        """Judge rows.

        Args:
            inputs: As `inputs` gives them.
            noise: Source of the bottleneck's noise; None = there is none.
        """
        hidden = self.body(inputs)
        information = hidden.new_zeros(())
        if self.bottleneck is not None:
            mean = self.bottleneck(hidden)
            information = _information(mean, self.log_std)
            hidden = mean
            if noise is not None:
                drawn = torch.randn(mean.shape, generator=noise, device=noise.device).to(mean.device)
                hidden = mean + drawn * self.log_std.exp()
        return Judgement(LIMIT * torch.tanh(self.score(hidden)[:, 0] / LIMIT), information)

    def slope_penalty(self, expert: Inputs, policy: Inputs, mix: Tensor) -> Tensor:
        """Mean over rows of max(|∇ logit| - 1, 0)² between rows of both sides (Gulrajani et al. 2017): a scalar.

        The gradient is that with respect to everything that is seen, all observations and the action together. Slopes
        below 1 cost nothing: else a discriminator that begins with the wrong sign could not get past a slope of 0.

        Args:
            expert, policy: n rows each.
            mix: float32[n] in [0, 1], where between the policy's row (0) and the expert's (1) each slope is taken.
        """
        between = [
            (_as_column(mix, own) * own + (1 - _as_column(mix, own)) * other).requires_grad_()
            for own, other in zip(expert, policy, strict=True)
        ]
        with sdpa_kernel(SDPBackend.MATH):  # The other forms of attention have no second derivative.
            logits = self.judge(tuple(between)).logits
        slopes = torch.autograd.grad(logits.sum(), between, create_graph=True)
        squares = torch.stack([slope.flatten(1).square().sum(dim=1) for slope in slopes]).sum(dim=0)
        return ((squares + _SLOPE_EPSILON).sqrt() - 1).clamp(min=0).square().mean()


def cross_entropy(expert: Tensor, policy: Tensor) -> Tensor:
    """-mean(log D) over the expert's rows - mean(log(1 - D)) over the policy's, of logits: a scalar."""
    return softplus(-expert).mean() + softplus(policy).mean()


def _information(mean: Tensor, log_std: Tensor) -> Tensor:
    # KL(N(μ, σ²) | N(0, 1)) = ½ Σ (μ² + σ² - 1 - log σ²)
    return 0.5 * (mean.square() + (2 * log_std).exp() - 1 - 2 * log_std).sum(dim=1).mean()


def _as_column(mix: Tensor, like: Tensor) -> Tensor:
    return mix.view(-1, *[1] * (like.dim() - 1))
