"""A reward signal that keeps to the contract, and one for each way not to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from agents_core.columns import Batch
from agents_core.contracts.reward_signal import RewardSignal, RewardSignalContext
from agents_core.networks.initialisation import Initialiser, torch_generator
from agents_core.options import RewardSignalConfig
from agents_core.plugin import RewardSignalSpec, hookimpl
from agents_core.schedules import Schedule
from torch import Tensor, nn

CODE = 4


class Right(RewardSignal):
    """The error of a trained network that imitates a fixed one (after Burda et al. 2018)."""

    def __init__(self, context: RewardSignalContext[RewardSignalConfig]) -> None:
        self.strength, self.gamma = context.config.strength, context.config.gamma
        size = sum(observation.size for observation in context.spec.observations)
        self.target, self.predictor = self.layers(context, size)
        self.momentum = [torch.zeros_like(weight) for weight in self.predictor.parameters()]
        self.count = 0

    def layers(self, context: RewardSignalContext[RewardSignalConfig], size: int) -> tuple[nn.Linear, nn.Linear]:
        initialiser = Initialiser("kaiming", torch_generator(context.seed))
        return initialiser.linear(size, CODE), initialiser.linear(size, CODE)

    def features(self, batch: Batch) -> Tensor:
        parts = [
            seen.flatten(1) / 255 if seen.dtype == torch.uint8 else seen.flatten(1).float().clamp(-5, 5)
            for seen in batch.next_observations
        ]
        return torch.cat(parts, dim=1)

    def error(self, batch: Batch) -> Tensor:
        features = self.features(batch)
        return (self.predictor(features) - self.target(features).detach()).square().mean(dim=1)

    def observe(self, batch: Batch) -> None:
        self.count += len(batch)

    @torch.no_grad()
    def evaluate(self, batch: Batch) -> Tensor:
        return self.error(batch) / (1 + self.count / 1000)

    def update(self, minibatch: Batch) -> dict[str, float]:
        loss = self.error(minibatch).mean()
        weights = list(self.predictor.parameters())
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for weight, momentum, gradient in zip(weights, self.momentum, gradients, strict=True):
                momentum.mul_(0.5).add_(gradient)
                weight.sub_(1e-4 * momentum)
        return {"loss": float(loss)}

    def state_dict(self) -> dict[str, Any]:
        networks = {"target": self.target, "predictor": self.predictor}
        return {
            **{
                name: {key: weight.clone() for key, weight in network.state_dict().items()}
                for name, network in networks.items()
            },
            "momentum": [momentum.clone() for momentum in self.momentum],
            "count": self.count,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.target.load_state_dict(state["target"])
        self.predictor.load_state_dict(state["predictor"])
        self.momentum = [momentum.clone() for momentum in state["momentum"]]
        self.count = state["count"]


class Doubles(Right):
    def evaluate(self, batch: Batch) -> Tensor:
        return super().evaluate(batch).double()


class Columns(Right):
    def evaluate(self, batch: Batch) -> Tensor:
        return super().evaluate(batch)[:, None]


class Arrays(Right):
    def evaluate(self, batch: Batch) -> Any:
        return super().evaluate(batch).numpy()


class DividesByNorm(Right):
    def features(self, batch: Batch) -> Tensor:
        features = super().features(batch)
        return features / features.norm(dim=1, keepdim=True)


class CentresOnBatch(Right):
    def evaluate(self, batch: Batch) -> Tensor:
        rewards = super().evaluate(batch)
        return rewards - rewards.mean()


class ReadsTicks(Right):
    def evaluate(self, batch: Batch) -> Tensor:
        return super().evaluate(batch) + 0.001 * batch["tick"]


class IgnoresSeed(Right):
    def layers(self, context: RewardSignalContext[RewardSignalConfig], size: int) -> tuple[nn.Linear, nn.Linear]:
        generator = torch.Generator().manual_seed(int.from_bytes(os.urandom(4), "little"))
        initialiser = Initialiser("kaiming", generator)
        del context
        return initialiser.linear(size, CODE), initialiser.linear(size, CODE)


class ClipsInPlace(Right):
    def update(self, minibatch: Batch) -> dict[str, float]:
        minibatch["reward"].clamp_(-0.1, 0.1)
        return super().update(minibatch)


class DrawsGlobally(Right):
    def layers(self, context: RewardSignalContext[RewardSignalConfig], size: int) -> tuple[nn.Linear, nn.Linear]:
        del context
        return nn.Linear(size, CODE), nn.Linear(size, CODE)


class SilencesWarnings(Right):
    def update(self, minibatch: Batch) -> dict[str, float]:
        np.seterr(over="ignore")
        return super().update(minibatch)


class LeaksGradients(Right):
    def evaluate(self, batch: Batch) -> Tensor:
        return self.error(batch) / (1 + self.count / 1000)


class CountsInEvaluate(Right):
    def __init__(self, context: RewardSignalContext[RewardSignalConfig]) -> None:
        super().__init__(context)
        self.evaluated = 0

    def evaluate(self, batch: Batch) -> Tensor:
        self.evaluated += len(batch)
        return super().evaluate(batch)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "evaluated": self.evaluated}


class SavesTuples(Right):
    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        return {**state, "momentum": tuple(state["momentum"])}


class SavesLiveWeights(Right):
    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "predictor": self.predictor.state_dict()}


class ForgetsNetwork(Right):
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({**state, "predictor": self.predictor.state_dict()})


class ForgetsCount(Right):
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({**state, "count": 0})


class ForgetsOptimiser(Right):
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({**state, "momentum": self.momentum})


class ForgetsPlace(Right):
    """Keeps the newest observations in a ring, and forgets where the next one goes."""

    def __init__(self, context: RewardSignalContext[RewardSignalConfig]) -> None:
        super().__init__(context)
        self.ring, self.seen = torch.zeros(50), 0

    def observe(self, batch: Batch) -> None:
        super().observe(batch)
        newest = self.features(batch).mean(dim=1)[-len(self.ring) :]
        self.seen += len(batch)
        self.ring[torch.arange(self.seen - len(newest), self.seen) % len(self.ring)] = newest

    def evaluate(self, batch: Batch) -> Tensor:
        return super().evaluate(batch) * (1 + self.ring.abs().mean())

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "ring": self.ring.clone(), "seen": min(self.seen, len(self.ring))}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.ring, self.seen = state["ring"].clone(), state["seen"]


class Squeezes(Right):
    def evaluate(self, batch: Batch) -> Tensor:
        return super().evaluate(batch)[:, None].squeeze()


class NeedsGoingOn(Right):
    def evaluate(self, batch: Batch) -> Tensor:
        rewards = super().evaluate(batch)
        going = rewards[~batch["terminated"]]
        return rewards + 0 * going.mean()


class LogsTensors(Right):
    def update(self, minibatch: Batch) -> dict[str, float]:
        return {"loss": torch.tensor(super().update(minibatch)["loss"])}  # type: ignore[dict-item]


class LogsPaths(Right):
    def update(self, minibatch: Batch) -> dict[str, float]:
        return {"reward/loss": super().update(minibatch)["loss"]}


class OwnGamma(Right):
    def __init__(self, context: RewardSignalContext[RewardSignalConfig]) -> None:
        super().__init__(context)
        self.gamma = 0.99


class TakesZeroForNothing(Right):
    def __init__(self, context: RewardSignalContext[RewardSignalConfig]) -> None:
        super().__init__(context)
        strength = context.config.strength
        self.strength = Schedule(strength.initial or 1.0, strength.final)


class VectorsOnly(Right):
    def features(self, batch: Batch) -> Tensor:
        vectors = [seen for seen in batch.next_observations if seen.dim() == 2]
        width = self.target.in_features - sum(seen.shape[1] for seen in vectors)
        seen = torch.cat([vector.float().clamp(-5, 5) for vector in vectors], dim=1)
        return torch.cat([seen, torch.zeros(len(batch), width)], dim=1)


class HashesNames(Right):
    def layers(self, context: RewardSignalContext[RewardSignalConfig], size: int) -> tuple[nn.Linear, nn.Linear]:
        generator = torch.Generator().manual_seed(hash(context.name) % 2**31)
        initialiser = Initialiser("kaiming", generator)
        return initialiser.linear(size, CODE), initialiser.linear(size, CODE)


EXPECTED = {
    Doubles: "test_rewards_are_float32_one_a_row_on_the_device",
    Columns: "test_rewards_are_float32_one_a_row_on_the_device",
    Arrays: "test_rewards_are_float32_one_a_row_on_the_device",
    DividesByNorm: "test_rewards_are_finite",
    CentresOnBatch: "test_rewards_do_not_depend_on_other_rows",
    ReadsTicks: "test_only_columns_of_the_contract_are_read",
    IgnoresSeed: "test_a_seed_repeats",
    ClipsInPlace: "test_inputs_stay_as_they_are",
    DrawsGlobally: "test_global_generators_are_left_alone",
    SilencesWarnings: "test_settings_of_the_process_are_left_alone",
    LeaksGradients: "test_rewards_carry_no_gradient",
    CountsInEvaluate: "test_evaluate_changes_nothing",
    SavesTuples: "test_the_state_can_be_saved",
    SavesLiveWeights: "test_a_taken_state_stays",
    ForgetsNetwork: "test_a_loaded_state_goes_on",
    ForgetsCount: "test_a_loaded_state_goes_on",
    ForgetsOptimiser: "test_a_loaded_state_goes_on",
    ForgetsPlace: "test_a_loaded_state_goes_on",
    Squeezes: "test_one_row_is_enough",
    NeedsGoingOn: "test_ended_rows_are_rewarded",
    LogsTensors: "test_statistics_are_plain_numbers",
    LogsPaths: "test_statistics_are_plain_numbers",
    OwnGamma: "test_strength_and_gamma_are_those_of_the_options",
    TakesZeroForNothing: "test_a_strength_of_0_changes_nothing",
    VectorsOnly: "test_every_kind_of_behavior_works_or_is_refused",
    HashesNames: "test_a_spawned_process_computes_the_same",
}
"""The one check that each fails."""


@hookimpl
def agents_reward_signals() -> list[RewardSignalSpec]:
    return [
        RewardSignalSpec(
            name=signal.__name__.lower(),
            summary="A test signal",
            config="agents_core.options:RewardSignalConfig",
            factory=f"faulty_signals:{signal.__name__}",
        )
        for signal in (Right, *EXPECTED)
    ]
