"""A trainer that keeps to the contract, and one for each way not to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from agents_core.columns import Batch, Columns
from agents_core.contracts.environment import Actions
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.contracts.trainer import TrainerContext
from agents_core.learning.gradient import Evaluation
from agents_core.plugin import TrainerSpec, hookimpl
from agents_core.testing.conformance.reference import Floats, ReferenceConfig, ReferenceTrainer
from agents_core.trajectory import Trajectories


class Right(ReferenceTrainer):
    """As it is."""


class FailsOnImages(Right):
    def update(self) -> dict[str, float]:
        if any(observation.kind == "image" for observation in self.context.spec.observations):
            raise IndexError("images")
        return super().update()


class WarmsUp(Right):
    """The first updates are for nothing."""

    def learn(self, rollout: Batch) -> list[Mapping[str, float]]:
        before = self.network.flat.values.clone()
        collected = super().learn(rollout)
        if self.step <= 2 * 64 + 16:
            self.network.flat.values.copy_(before)
        return collected


class TakesLogarithms(Right):
    def advantages(self, signal: RewardSignal, rewards: Floats, evaluation: Evaluation, head: int) -> Floats:
        with np.errstate(invalid="ignore"):
            return super().advantages(signal, np.log(rewards + 50), evaluation, head)


class OwnNames(Right):
    def update(self) -> dict[str, float]:
        stats = super().update()
        stats["train/policyloss"] = stats.pop("train/policy_loss")
        return stats


class LogsNoRewards(Right):
    def update(self) -> dict[str, float]:
        return {name: value for name, value in super().update().items() if not name.endswith(("/raw", "/scaled"))} | {
            f"reward/{name}/raw": 0.0 for name in self.signals
        }


class LogsTensors(Right):
    def update(self) -> dict[str, float]:
        return {**super().update(), "train/own_loss": torch.ones(())}  # type: ignore[dict-item]


class DrawsGlobally(Right):
    def update(self) -> dict[str, float]:
        np.random.permutation(10)  # noqa: NPY002
        return super().update()


class SilencesWarnings(Right):
    def update(self) -> dict[str, float]:
        np.seterr(over="ignore")
        return super().update()


class ClipsInPlace(Right):
    def process(self, experience: Trajectories | Columns, step: int) -> None:
        super().process(experience, step)
        assert self.rollout is not None
        self.rollout.columns["tick"][:] = 0


class KeepsExperience(Right):
    kept: Any = None

    def process(self, experience: Trajectories | Columns, step: int) -> None:
        super().process(experience, step)
        assert isinstance(experience, Trajectories)
        self.kept = experience.columns["obs.0"]

    def policy_state(self) -> dict[str, Any]:
        return {**super().policy_state(), **({} if self.kept is None else {"seen": self.kept[:4]})}

    def load_policy_state(self, state: Mapping[str, Any]) -> None:
        super().load_policy_state({key: value for key, value in state.items() if key != "seen"})


class AlwaysReady(Right):
    def is_ready(self) -> bool:
        return True


class WantsFullRollouts(Right):
    def is_ready(self) -> bool:
        return self.rollout is not None and len(self.rollout) >= self.rollout_size


class SwallowsNaN(Right):
    def rewards(self, name: str, signal: RewardSignal, batch: Batch) -> Any:
        del name
        signal.observe(batch)
        return np.nan_to_num(signal.evaluate(batch).numpy())


class ObservesInEpochs(Right):
    def update_signals(self, minibatch: Batch) -> dict[str, float]:
        for signal in self.signals.values():
            signal.observe(minibatch)
        return super().update_signals(minibatch)


class EvaluatesFirst(Right):
    def rewards(self, name: str, signal: RewardSignal, batch: Batch) -> Any:
        signal.evaluate(batch)
        return super().rewards(name, signal, batch)


class LeavesSignalsUntrained(Right):
    def update_signals(self, minibatch: Batch) -> dict[str, float]:
        del minibatch
        return {}


class ValuesSilentSignals(Right):
    def __init__(self, context: TrainerContext[ReferenceConfig]) -> None:
        super().__init__(context)
        if len(self.valued) < len(self.signals):
            self.network.flat.values.mul_(1.5)


class ForgetsSignals(Right):
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        own = {name: signal.state_dict() for name, signal in self.signals.items()}
        super().load_state_dict({**state, "signals": own})


class IgnoresSeed(Right):
    def __init__(self, context: TrainerContext[ReferenceConfig]) -> None:
        super().__init__(context)
        self.network.flat.values.mul_(1 + int.from_bytes(os.urandom(2), "little") / 2**18)


class SavesTuples(Right):
    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "sizes": (1, 2)}


class KeepsNormaliser(Right):
    """What the normaliser knows is not in the policy's state but in the other one."""

    def policy_state(self) -> dict[str, Any]:
        state = super().policy_state()
        return {**state, "normalisers": Right(self.context).policy_state()["normalisers"]}

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "policy": super().policy_state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        super().load_policy_state(state["policy"])


class StartsAtRandom(Right):
    """Actions are uniform until there is experience, or a whole state."""

    is_random = True

    def __init__(self, context: TrainerContext[ReferenceConfig]) -> None:
        super().__init__(context)
        choose, generator = self.policy.act, np.random.default_rng(0)

        def act(*seen: Any, deterministic: bool = False, **options: Any) -> Actions:
            actions = choose(*seen, deterministic=deterministic, **options)
            if self.is_random and not deterministic:
                actions.continuous[:] = generator.uniform(-1, 1, actions.continuous.shape)
            return actions

        self.policy.act = act  # type: ignore[method-assign]

    def process(self, experience: Trajectories | Columns, step: int) -> None:
        self.is_random = False
        super().process(experience, step)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.is_random = False
        super().load_state_dict(state)


class ForgetsOptimiser(Right):
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({**state, "optimiser": self.optimiser.state_dict()})


class ForgetsGenerators(Right):
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({**state, "order": super().state_dict()["order"]})


class TurnsNumbersRound(Right):
    """Learns the opposite of continuous actions."""

    def advantages(self, signal: RewardSignal, rewards: Floats, evaluation: Evaluation, head: int) -> Floats:
        sign = 1 if self.context.spec.action.discrete_branches else -1
        return sign * super().advantages(signal, rewards, evaluation, head)


class ReadsNoSign(Right):
    def process(self, experience: Trajectories | Columns, step: int) -> None:
        assert isinstance(experience, Trajectories)
        seen = {"obs.0": np.abs(experience.columns["obs.0"])} if self.is_probed() else {}
        columns = Columns({**experience.columns.fields, **seen})
        super().process(Trajectories(columns, experience.lengths, experience.final_observations), step)

    def is_probed(self) -> bool:
        return self.context.spec.observations[0].name == "probe"


class ForgetsWhatWasBefore(Right):
    """Credits rewards to the last action only; what an episode was cut at counts."""

    def advantages(self, signal: RewardSignal, rewards: Floats, evaluation: Evaluation, head: int) -> Floats:
        own = np.array(super().advantages(signal, rewards, evaluation, head))
        assert self.rollout is not None
        inner = np.ones(len(own), np.bool_)
        inner[self.rollout.last_rows] = False
        own[inner] = (rewards - evaluation.values[:, head])[inner]
        return own


class EndsAtLimits(Right):
    def advantages(self, signal: RewardSignal, rewards: Floats, evaluation: Evaluation, head: int) -> Floats:
        assert self.rollout is not None
        columns = self.rollout.columns
        ends = {"terminated": columns["terminated"] | columns["truncated"]}
        whole = Columns({**columns.fields, **ends})
        self.rollout = Trajectories(whole, self.rollout.lengths, self.rollout.final_observations)
        return super().advantages(signal, rewards, evaluation, head)


class GoesOnAfterTheEnd(Right):
    def advantages(self, signal: RewardSignal, rewards: Floats, evaluation: Evaluation, head: int) -> Floats:
        assert self.rollout is not None
        columns = self.rollout.columns
        whole = Columns({**columns.fields, "terminated": np.zeros(len(columns), np.bool_)})
        self.rollout = Trajectories(whole, self.rollout.lengths, self.rollout.final_observations)
        return super().advantages(signal, rewards, evaluation, head)


class HashesNames(Right):
    def __init__(self, context: TrainerContext[ReferenceConfig]) -> None:
        super().__init__(context)
        self.network.flat.values.mul_(1 + hash(context.behavior) % 2**20 / 2**23)


EXPECTED = {
    FailsOnImages: "test_every_kind_of_behavior_is_trained_or_refused",
    WarmsUp: "test_updates_change_the_policy",
    TakesLogarithms: "test_equal_rewards_leave_weights_finite",
    OwnNames: "test_statistics_have_known_names",
    LogsNoRewards: "test_statistics_have_known_names",
    LogsTensors: "test_statistics_have_known_names",
    DrawsGlobally: "test_global_generators_are_left_alone",
    SilencesWarnings: "test_settings_of_the_process_are_left_alone",
    ClipsInPlace: "test_experience_stays_as_it_is",
    KeepsExperience: "test_experience_is_not_kept",
    AlwaysReady: "test_a_new_trainer_is_not_ready",
    WantsFullRollouts: "test_the_last_rollout_may_be_short",
    SwallowsNaN: "test_a_reward_that_is_not_finite_ends_the_run",
    ObservesInEpochs: "test_signals_observe_each_transition_once",
    EvaluatesFirst: "test_signals_observe_before_they_evaluate",
    LeavesSignalsUntrained: "test_signals_are_trained",
    ValuesSilentSignals: "test_a_strength_of_0_changes_nothing",
    ForgetsSignals: "test_states_of_signals_are_kept",
    IgnoresSeed: "test_a_seed_repeats",
    SavesTuples: "test_states_can_be_saved",
    KeepsNormaliser: "test_the_policy_state_is_enough_to_act",
    StartsAtRandom: "test_a_loaded_policy_samples_as_the_trained_one",
    ForgetsOptimiser: "test_a_resumed_trainer_goes_on_bit_for_bit",
    ForgetsGenerators: "test_a_resumed_trainer_goes_on_bit_for_bit",
    TurnsNumbersRound: "test_it_learns_which_action_pays",
    ReadsNoSign: "test_it_learns_to_read_the_observation",
    ForgetsWhatWasBefore: "test_it_learns_from_later_rewards",
    EndsAtLimits: "test_values_go_on_through_a_limit",
    GoesOnAfterTheEnd: "test_values_end_with_a_termination",
    HashesNames: "test_a_spawned_process_computes_the_same",
}
"""The one check that each fails."""


@hookimpl
def agents_trainers() -> list[TrainerSpec]:
    return [
        TrainerSpec(
            name=trainer.__name__.lower(),
            summary="A test trainer",
            config="agents_core.testing.conformance.reference:ReferenceConfig",
            factory=f"faulty_trainers:{trainer.__name__}",
        )
        for trainer in (Right, *EXPECTED)
    ]
