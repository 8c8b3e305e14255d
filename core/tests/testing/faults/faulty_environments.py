"""An environment that keeps to the contract, and one for each way not to."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping

import numpy as np
from agents_core.contracts.environment import Actions, EnvironmentContext, EnvironmentSteps
from agents_core.environments.seeding import environment_seed
from agents_core.options import ConfigModel
from agents_core.plugin import EnvironmentSpec, hookimpl
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.column_environment import Bools, ColumnEnvironment, Floats, Int64s

NAME = "Walker"
SPEC = BehaviorSpec((ObservationSpec("place", (2,)),), ActionSpec(continuous_size=1, discrete_branches=(3,)))


class Right(ColumnEnvironment):
    """Walks on a line from a random place; two agents an instance, some choices forbidden."""

    def __init__(self, context: EnvironmentContext[ConfigModel]) -> None:
        super().__init__(NAME, SPEC, 2 * context.num_envs)
        self.context = context
        self.generators = [np.random.default_rng(place) for place in range(context.num_envs)]
        self.place: Floats = np.zeros((self.agents, 2), np.float32)

    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        if seed is not None:
            self.generators = [
                np.random.default_rng(environment_seed(seed, self.context.first_env + place))
                for place in range(self.context.num_envs)
            ]
        return super().reset(None, parameters)

    def start(self, rows: Int64s) -> None:
        for row in rows:
            self.place[row] = self.generators[row // 2].uniform(-1, 1, 2)

    def observe(self) -> tuple[Floats, ...]:
        return (self.place.copy(),)

    def mask(self) -> Bools | None:
        allowed = np.ones((self.agents, 3), np.bool_)
        allowed[:, 1] = self.place[:, 0] > 0
        return allowed

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        self.place[:, 0] += 0.1 * actions.continuous[:, 0] + 0.01 * (actions.discrete[:, 0] - 1)
        ended = self.time + 1 >= 7
        return np.abs(self.place[:, 0]), ended, np.zeros(self.agents, np.bool_)


class Integers(Right):
    def observe(self) -> tuple[Floats, ...]:
        return (self.place.astype(np.float64),)  # type: ignore[return-value]


class Unbounded(Right):
    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        reward, ended, cut = super().advance(actions)
        return np.where(self.time == 3, np.float32(np.inf), reward), ended, cut


class EndsStrangers(Right):
    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        steps = super().step(actions)
        terminal = steps.behaviors[NAME].terminal
        terminal.agent_id = terminal.agent_id + 100
        return steps


class PaysNewcomers(Right):
    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        steps = super().step(actions)
        behavior = steps.behaviors[NAME]
        behavior.decision.reward[behavior.terminal.agent_id] = behavior.terminal.reward
        return steps


class ForbidsAll(Right):
    def mask(self) -> Bools | None:
        allowed = super().mask()
        assert allowed is not None
        allowed[self.time == 3] = False
        return allowed


class AsksNobody(Right):
    """Agents vanish where their episode ends, and come back a step later."""

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        if not actions:
            return super()._steps(np.zeros(self.agents, np.float32), self._nobody)
        steps = super().step(actions)
        behavior = steps.behaviors[NAME]
        if len(behavior.terminal):
            decision = behavior.decision
            decision.agent_id, decision.reward = decision.agent_id[:0], decision.reward[:0]
            decision.observations = tuple(seen[:0] for seen in decision.observations)
            decision.action_mask = None
        return steps


class IgnoresSeed(Right):
    """Every object walks at a speed of its own."""

    def __init__(self, context: EnvironmentContext[ConfigModel]) -> None:
        super().__init__(context)
        self.wind = int.from_bytes(os.urandom(2), "little") / 2**20

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        self.place[:, 0] += self.wind
        return super().advance(actions)


class RemembersEpisodes(Right):
    """Later resets start elsewhere, whatever the seed."""

    resets = 0

    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        self.resets += 1
        steps = super().reset(seed, parameters)
        self.place += 0.01 * self.resets
        steps.behaviors[NAME].decision.observations = self.observe()
        return steps


class NeedsSeeds(Right):
    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        return super().reset(seed + 0, parameters)  # type: ignore[operator]


class ChangesSpec(Right):
    steps_taken = 0

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        self.steps_taken += 1
        return super().step(actions)

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        bounded = self.steps_taken < 30
        return {NAME: BehaviorSpec(SPEC.observations, ActionSpec(1, (3,), bounded=bounded))}


class ScalesInPlace(Right):
    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        actions.continuous *= 0.5
        return super().advance(actions)


class RefusesEnds(Right):
    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        if (actions.continuous >= 1).any():
            raise ValueError("out of bounds")
        return super().advance(actions)


class SeedsAlike(Right):
    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        if seed is None:
            return super().reset(None, parameters)
        first = environment_seed(seed, self.context.first_env)
        self.generators = [np.random.default_rng(first) for _ in self.generators]
        return super().reset(None, parameters)


class CountsInWords(Right):
    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        steps = super().step(actions)
        steps.stats = {"lap": 3.0}  # type: ignore[dict-item]
        return steps


class DrawsGlobally(Right):
    def start(self, rows: Int64s) -> None:
        random.random()
        super().start(rows)


class ClosesOnce(Right):
    is_open = True

    def close(self) -> None:
        assert self.is_open
        self.is_open = False


class HashesNames(Right):
    def start(self, rows: Int64s) -> None:
        super().start(rows)
        self.place[rows, 1] = hash(NAME) % 2**20 / 2**20


EXPECTED = {
    Integers: "test_arrays_have_the_shapes_and_dtypes_of_the_spec",
    Unbounded: "test_numbers_are_finite",
    EndsStrangers: "test_living_agents_have_ids_of_their_own",
    PaysNewcomers: "test_an_episode_starts_with_reward_0",
    ForbidsAll: "test_every_mask_leaves_a_choice",
    AsksNobody: "test_every_step_asks_somebody",
    IgnoresSeed: "test_a_seed_repeats",
    RemembersEpisodes: "test_a_reset_with_the_seed_starts_the_same_again",
    NeedsSeeds: "test_a_reset_without_a_seed_goes_on",
    ChangesSpec: "test_specs_do_not_change",
    ScalesInPlace: "test_actions_stay_as_they_are",
    RefusesEnds: "test_the_ends_of_the_action_range_are_allowed",
    SeedsAlike: "test_instances_are_those_of_single_environments",
    CountsInWords: "test_statistics_are_lists_of_numbers",
    DrawsGlobally: "test_global_generators_are_left_alone",
    ClosesOnce: "test_closing_twice_is_allowed",
    HashesNames: "test_a_spawned_process_computes_the_same",
}
"""The one check that each fails."""


@hookimpl
def agents_environments() -> list[EnvironmentSpec]:
    return [
        EnvironmentSpec(
            name=environment.__name__.lower(),
            summary="A test environment",
            config="agents_core.options:ConfigModel",
            factory=f"faulty_environments:{environment.__name__}",
            hosts_many=True,
        )
        for environment in (Right, *EXPECTED)
    ]
