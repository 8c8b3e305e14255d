"""What is checked of every environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from agents_core.contracts.environment import Actions, Environment, EnvironmentContext, EnvironmentSteps
from agents_core.environments.checks import StructureChecker, check_unique, refuse_non_finite
from agents_core.environments.seeding import environment_seed
from agents_core.errors import EnvironmentFailedError
from agents_core.options import ConfigModel
from agents_core.plugin import EnvironmentSpec
from agents_core.registry import Component
from agents_core.registry.names import describe
from agents_core.testing.conformance.checks import require, skip
from agents_core.testing.conformance.component import ComponentConformance
from agents_core.testing.conformance.isolation import GENERATORS, global_seed, read
from agents_core.testing.conformance.seen import Seen, first_difference, rows, seen
from agents_core.testing.random_actions import random_actions

_WHERE = "the environment"


class EnvironmentConformance(ComponentConformance):
    """Subclass it in a test, and name the environment: `component = "gymnasium"`, `config = {"id": "CartPole-v1"}`.

    Attributes:
        steps: How many steps with random actions each check takes; enough for some episodes to end.
    """

    kind = "environment"
    steps: ClassVar[int] = 200

    def make(self, *, num_envs: int = 1, first_env: int = 0) -> Environment:
        """An environment as a worker would make it; each check closes its own."""
        return make_environment(self.found(), self.options(), self.directory(), num_envs, first_env)

    def spawned(self) -> tuple[str, tuple[object, ...]]:
        return f"{__name__}:first_steps", (self.found(), self.options(), self.directory())

    def test_arrays_have_the_shapes_and_dtypes_of_the_spec(self) -> None:
        """Observations, rewards, masks and ends are arrays as the contract and the behavior's spec say.

        Mend: convert in one place, such as `np.asarray(reward, np.float32)`; name the stored dtype in the spec.
        """
        with closing(self.make()) as environment:
            checkers: dict[str, StructureChecker] = {}
            for steps in self._walk(environment):
                for name, behavior in steps.behaviors.items():
                    if name not in environment.behavior_specs:
                        require(
                            False, "every behavior has a spec", f"{name!r} has none", sorted(environment.behavior_specs)
                        )
                    checker = checkers.setdefault(
                        name, StructureChecker(name, environment.behavior_specs[name], _WHERE)
                    )
                    _judge("arrays are as the spec says", partial(checker.check, behavior))

    def test_numbers_are_finite(self) -> None:
        """No observation and no reward is NaN or infinite.

        Mend: find out where it comes from; a division by a distance of 0, for instance.
        """
        with closing(self.make()) as environment:
            for steps in self._walk(environment):
                for name, behavior in steps.behaviors.items():
                    spec = environment.behavior_specs[name]
                    _judge("numbers are finite", partial(refuse_non_finite, name, behavior, spec, _WHERE))

    def test_living_agents_have_ids_of_their_own(self) -> None:
        """No agent stands twice in one step, and only agents that were asked for an action end an episode.

        Mend: give each agent a number when it appears and keep it while it lives.
        """
        with closing(self.make()) as environment:
            alive: dict[str, set[int]] = {}
            for steps in self._walk(environment):
                for name, behavior in steps.behaviors.items():
                    known = alive.setdefault(name, set())
                    ended = behavior.terminal.agent_id.tolist()
                    _judge("ids are unique", partial(check_unique, behavior.decision.agent_id, name, _WHERE))
                    require(len(set(ended)) == len(ended), f"{name}: an agent ends once a step", ended, "each once")
                    strange = sorted(set(ended) - known)
                    rule = f"{name}: who ends an episode has acted in it"
                    require(not strange, rule, f"agents {strange[:5]} never were asked", "agents of earlier decisions")
                    known -= set(ended)
                    known |= set(behavior.decision.agent_id.tolist())

    def test_an_episode_starts_with_reward_0(self) -> None:
        """A first decision is paid nothing: the agent has done nothing yet.

        Mend: put the last reward of an episode into `TerminalSteps`, and 0 into the next `DecisionSteps`.
        """
        with closing(self.make()) as environment:
            acting: dict[str, set[int]] = {}
            for steps in self._walk(environment):
                for name, behavior in steps.behaviors.items():
                    going = acting.setdefault(name, set()) - set(behavior.terminal.agent_id.tolist())
                    decision = behavior.decision
                    paid = [
                        (int(agent), float(reward))
                        for agent, reward in zip(decision.agent_id, decision.reward, strict=True)
                        if reward != 0 and int(agent) not in going
                    ]
                    rule = f"{name}: the first decision of an episode is paid 0"
                    require(not paid, rule, f"(agent, reward): {paid[:5]}", "0")
                    acting[name] = going | set(decision.agent_id.tolist())

    def test_every_mask_leaves_a_choice(self) -> None:
        """At least one choice of every branch is allowed.

        Mend: allow a choice that does nothing where there is no other.
        """
        with closing(self.make()) as environment:
            for steps in self._walk(environment):
                for name, behavior in steps.behaviors.items():
                    mask = behavior.decision.action_mask
                    if mask is None:
                        continue
                    branches = environment.behavior_specs[name].action.discrete_branches
                    parts = np.split(mask, np.cumsum(branches)[:-1], axis=1)
                    stuck = [place for place, part in enumerate(parts) if not part.any(axis=1).all()]
                    require(not stuck, f"{name}: every branch leaves a choice", f"none in branches {stuck}", "one")

    def test_every_step_asks_somebody(self) -> None:
        """`reset` and `step` advance until an agent needs a decision.

        Mend: step on while nobody does; start a new episode where one ended.
        """
        with closing(self.make()) as environment:
            for number, steps in enumerate(self._walk(environment)):
                asked = sum(len(behavior.decision) for behavior in steps.behaviors.values())
                require(asked > 0, "every step asks an agent for a decision", f"nobody at step {number}", "an agent")

    def test_a_seed_repeats(self) -> None:
        """Two environments that are reset with one seed and act alike show the same.

        Mend: draw everything from a generator that `reset` seeds.
        """
        histories = []
        for seed in (7, 8):
            with global_seed(seed), closing(self.make()) as environment:
                histories.append(self._history(environment))
        found = first_difference(histories[0], histories[1])
        require(found is None, "one seed gives the same episodes", found, "no difference")

    def test_a_reset_with_the_seed_starts_the_same_again(self) -> None:
        """What was done before leaves no trace, unless `hidden_state` names it.

        Mend: set everything in `reset`; name in `hidden_state` what cannot be, such as a wrapper's running statistics.
        """
        with closing(self.make()) as environment:
            if environment.hidden_state:
                skip(f"it says that {', '.join(environment.hidden_state)} is not restored")
            first = self._history(environment)
            found = first_difference(first, self._history(environment))
            require(found is None, "a reset with the same seed starts the same again", found, "no difference")

    def test_a_reset_without_a_seed_goes_on(self) -> None:
        """`reset()` starts new episodes with the generators as they are, in the middle of episodes too.

        Mend: leave generators alone where `seed` is None.
        """
        with closing(self.make()) as environment:
            for _ in range(3):
                steps = environment.reset()
                asked = sum(len(behavior.decision) for behavior in steps.behaviors.values())
                require(asked > 0, "`reset()` without a seed starts episodes", "nobody is asked", "an agent")
                environment.step(self._actions(steps, environment, np.random.default_rng(0)))

    def test_specs_do_not_change(self) -> None:
        """A behavior that was seen keeps its spec.

        Mend: find out the sizes before the first reset returns.
        """
        with closing(self.make()) as environment:
            environment.reset(0)
            before = dict(environment.behavior_specs)
            require(bool(before), "after `reset` there is a behavior", "none", "one")
            for _ in self._walk(environment):
                pass
            after = environment.behavior_specs
            changed = [name for name, spec in before.items() if after.get(name) != spec]
            require(not changed, "specs do not change", f"changed: {', '.join(changed)}", "the same")

    def test_actions_stay_as_they_are(self) -> None:
        """`step` only reads the actions: the policy's arrays are stored as experience.

        Mend: rescale and clip copies.
        """
        with closing(self.make()) as environment:
            steps, generator = environment.reset(0), np.random.default_rng(0)
            for _ in range(self.steps // 4):
                actions = self._actions(steps, environment, generator)
                before = {name: (each.continuous.copy(), each.discrete.copy()) for name, each in actions.items()}
                steps = environment.step(actions)
                changed = [
                    name
                    for name, (continuous, discrete) in before.items()
                    if not (
                        np.array_equal(continuous, actions[name].continuous)
                        and np.array_equal(discrete, actions[name].discrete)
                    )
                ]
                require(not changed, "actions stay as they are", f"changed: {', '.join(changed)}", "the same arrays")

    def test_the_ends_of_the_action_range_are_allowed(self) -> None:
        """-1 and 1 are actions of a bounded space.

        Mend: clip to the bounds after rescaling, which rounds.
        """
        with closing(self.make()) as environment:
            steps, generator = environment.reset(0), np.random.default_rng(0)
            specs = environment.behavior_specs
            if not any(spec.action.continuous_size and spec.action.bounded for spec in specs.values()):
                skip("no behavior has bounded continuous actions")
            for place in range(20):
                actions = self._actions(steps, environment, generator)
                for each in actions.values():
                    each.continuous[:] = -1.0 if place % 2 else 1.0
                steps = environment.step(actions)

    def test_instances_are_those_of_single_environments(self) -> None:
        """An object that hosts many gives what that many objects would: each instance has a seed of its own.

        Mend: `environment_seed(seed, context.first_env + i)` of `agents_core.environments.seeding` for instance i.
        """
        own = self.found().spec
        if not (isinstance(own, EnvironmentSpec) and own.hosts_many):
            skip("an object hosts one instance")
        with closing(self.make(num_envs=2)) as environment:
            together = rows(environment.reset(3))
        apart: dict[str, list[bytes]] = {}
        for first in (0, 1):
            with closing(self.make(first_env=first)) as environment:
                for name, agents in rows(environment.reset(3)).items():
                    apart.setdefault(name, []).extend(agents)
        same = {name: sorted(agents) for name, agents in apart.items()} == {
            name: sorted(agents) for name, agents in together.items()
        }
        counts = {name: len(agents) for name, agents in together.items()}
        rule = "two instances in one object start as two objects with one"
        require(same, rule, f"other observations ({counts} agents)", f"seeds {environment_seed(3, 0)}, …")

    def test_statistics_are_lists_of_numbers(self) -> None:
        """`stats` holds a list of numbers a key, logged as `env/<key>`.

        Mend: `{"lap": [float(seconds)]}`.
        """
        with closing(self.make()) as environment:
            for steps in self._walk(environment):
                wrong = {
                    key: values
                    for key, values in steps.stats.items()
                    if not (isinstance(key, str) and isinstance(values, list) and all(type(v) is float for v in values))
                }
                require(not wrong, "statistics are lists of floats", repr(wrong)[:200], "{name: [float, …]}")

    def test_global_generators_are_left_alone(self) -> None:
        """Nothing draws from the global generators of torch, NumPy or `random`.

        Mend: draw from a generator of the environment's own, which `reset` seeds.
        """
        with global_seed(0):
            before = read(GENERATORS)
            with closing(self.make()) as environment:
                for _ in self._walk(environment):
                    pass
            after = read(GENERATORS)
        used = [name for name in before if before[name] != after[name]]
        require(not used, "global generators are not used", f"drawn from: {', '.join(used)}", "none")

    def test_closing_twice_is_allowed(self) -> None:
        """A run that fails closes its environments again, perhaps before their first reset.

        Mend: remember that it is closed.
        """
        for is_reset in (False, True):
            environment = self.make()
            if is_reset:
                environment.reset(0)
            environment.close()
            try:
                environment.close()
            except Exception as error:
                require(False, "closing twice is allowed", describe(error), "nothing happens")

    def _walk(self, environment: Environment, seed: int = 0) -> Iterator[EnvironmentSteps]:
        """What a reset and steps with random actions return."""
        generator = np.random.default_rng(seed)
        steps = environment.reset(seed)
        yield steps
        for _ in range(self.steps):
            steps = environment.step(self._actions(steps, environment, generator))
            yield steps

    def _actions(
        self, steps: EnvironmentSteps, environment: Environment, generator: np.random.Generator
    ) -> dict[str, Actions]:
        return random_actions(steps, environment.behavior_specs, generator)

    def _history(self, environment: Environment) -> list[Seen]:
        return [seen(steps) for steps in self._walk(environment)]


def make_environment(
    component: Component, config: ConfigModel, directory: Path, num_envs: int = 1, first_env: int = 0
) -> Environment:
    """An environment as a worker would make it."""
    environment = component.load_factory()(EnvironmentContext(config, num_envs, first_env, directory))
    rule = "the factory returns an Environment"
    require(isinstance(environment, Environment), rule, type(environment).__name__, "an Environment")
    made: Environment = environment
    return made


def first_steps(component: Component, config: ConfigModel, directory: Path) -> list[float]:
    """Numbers of a reset and a few steps."""
    with closing(make_environment(component, config, directory)) as environment:
        steps, generator, numbers = environment.reset(0), np.random.default_rng(0), []
        for _ in range(5):
            for _, behavior in sorted(steps.behaviors.items()):
                for array in (*behavior.decision.observations, behavior.decision.reward):
                    numbers.append(float(np.asarray(array, np.float64).sum()))
            steps = environment.step(random_actions(steps, environment.behavior_specs, generator))
        return numbers


def _judge(rule: str, check: Callable[[], None]) -> None:
    """Let one of core's own checks decide."""
    try:
        check()
    except EnvironmentFailedError as error:
        require(False, rule, error, "what the contract says")
