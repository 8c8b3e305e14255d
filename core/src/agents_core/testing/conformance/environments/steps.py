"""What an environment returns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial

import numpy as np

from agents_core.environments.checks import StructureChecker, check_unique, refuse_non_finite
from agents_core.errors import EnvironmentFailedError
from agents_core.testing.conformance.checks import require
from agents_core.testing.conformance.environments.harness import EnvironmentChecks

_WHERE = "the environment"


class StepChecks(EnvironmentChecks):
    """Checks of what `reset` and `step` return."""

    def test_arrays_have_the_shapes_and_dtypes_of_the_spec(self) -> None:
        """Observations, rewards, masks and ends are arrays as the contract and the behavior's spec say.

        Mend: convert in one place, such as `np.asarray(reward, np.float32)`; name the stored dtype in the spec.
        """
        with closing(self.make()) as environment:
            checkers: dict[str, StructureChecker] = {}
            for steps in self.walk(environment):
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
            for steps in self.walk(environment):
                for name, behavior in steps.behaviors.items():
                    spec = environment.behavior_specs[name]
                    _judge("numbers are finite", partial(refuse_non_finite, name, behavior, spec, _WHERE))

    def test_living_agents_have_ids_of_their_own(self) -> None:
        """No agent stands twice in one step, and only agents that were asked for an action end an episode.

        Mend: give each agent a number when it appears and keep it while it lives.
        """
        with closing(self.make()) as environment:
            alive: dict[str, set[int]] = {}
            for steps in self.walk(environment):
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
            for steps in self.walk(environment):
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
            for steps in self.walk(environment):
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
            for number, steps in enumerate(self.walk(environment)):
                asked = sum(len(behavior.decision) for behavior in steps.behaviors.values())
                require(asked > 0, "every step asks an agent for a decision", f"nobody at step {number}", "an agent")

    def test_specs_do_not_change(self) -> None:
        """A behavior that was seen keeps its spec.

        Mend: find out the sizes before the first reset returns.
        """
        with closing(self.make()) as environment:
            environment.reset(0)
            before = dict(environment.behavior_specs)
            require(bool(before), "after `reset` there is a behavior", "none", "one")
            for _ in self.walk(environment):
                pass
            after = environment.behavior_specs
            changed = [name for name, spec in before.items() if after.get(name) != spec]
            require(not changed, "specs do not change", f"changed: {', '.join(changed)}", "the same")

    def test_statistics_are_lists_of_numbers(self) -> None:
        """`stats` holds a list of numbers a key, logged as `env/<key>`.

        Mend: `{"lap": [float(seconds)]}`.
        """
        with closing(self.make()) as environment:
            for steps in self.walk(environment):
                wrong = {
                    key: values
                    for key, values in steps.stats.items()
                    if not (isinstance(key, str) and isinstance(values, list) and all(type(v) is float for v in values))
                }
                require(not wrong, "statistics are lists of floats", repr(wrong)[:200], "{name: [float, …]}")


def _judge(rule: str, check: Callable[[], None]) -> None:
    """Let one of core's own checks decide."""
    try:
        check()
    except EnvironmentFailedError as error:
        require(False, rule, error, "what the contract says")
