"""Whether a trainer learns: one probe for each thing that must work, after Andy Jones (2021)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from agents_core.contracts.environment import Environment
from agents_core.contracts.policy import Policy
from agents_core.testing.column_environment import ActionKind, signed_action
from agents_core.testing.conformance.checks import require, skip
from agents_core.testing.conformance.isolation import global_seed
from agents_core.testing.conformance.trainers.harness import ACTION_KINDS, TrainerChecks, spec_of
from agents_core.testing.credit_probes import EndOrLimit, LaterReward
from agents_core.testing.driver import Driver
from agents_core.testing.probes import OneStepProbe

_AGENTS = 8
_SAMPLES = 512
_BETTER_THAN_CHANCE = 0.65
"""Part of the samples that must be right, where chance has one half; a policy that keeps exploring is no fault."""
_LOOKS = 3
"""Looks in a row at which a policy must be right."""


class LearningChecks(TrainerChecks):
    """Checks of what is learned, by what the policy does in the end.

    Attributes:
        probe_config: Options for the probes, over `config`: whatever learns them fast.
        probe_network: The `network:` section for the probes.
        probe_steps: Decisions that each probe may take; learning ends earlier where the policy is right.
    """

    probe_config: ClassVar[Mapping[str, object]] = MappingProxyType({})
    probe_network: ClassVar[Mapping[str, object]] = MappingProxyType({"hidden_units": 32})
    probe_steps: ClassVar[int] = 30_000

    def test_it_learns_which_action_pays(self) -> None:
        """One observation, one decision, the reward is the action: the policy follows the advantage.

        Mend: look at the sign of the policy's loss, at log-probabilities, at the advantage.
        """
        for kind in ACTION_KINDS:
            toy = OneStepProbe("action_reward", _AGENTS, kind)
            if self.takes(spec_of(toy)):
                self._learns(toy, kind, [0.0], [1.0])

    def test_it_learns_to_read_the_observation(self) -> None:
        """The right action is the one that was seen: observations and actions belong together.

        Mend: see that rows of observations, actions and rewards are not shuffled apart from one another.
        """
        self._learns_probe(
            lambda kind: OneStepProbe("observation_action_reward", _AGENTS, kind), [-1.0, 1.0], [-1.0, 1.0]
        )

    def test_it_learns_from_later_rewards(self) -> None:
        """What is done first is paid one decision later.

        Mend: look at the return: rewards after a row count for it, discounted, within the episode and not beyond.
        """
        self._learns_probe(lambda kind: LaterReward(_AGENTS, kind), [0.0], [1.0])

    def test_values_go_on_through_a_limit(self) -> None:
        """An episode that was cut off is worth what its last observation is worth.

        Mend: bootstrap where `truncated`, from the final observation, not from the first one of the next episode.
        """
        self._learns_probe(lambda kind: EndOrLimit("limit", _AGENTS, kind), [0.0], [1.0])

    def test_values_end_with_a_termination(self) -> None:
        """Nothing comes after an episode that terminated.

        Mend: no value of the next observation where `terminated`.
        """
        self._learns_probe(lambda kind: EndOrLimit("termination", _AGENTS, kind), [0.0], [-1.0])

    def _learns_probe(
        self, make: Callable[[ActionKind], Environment], observations: Sequence[float], right: Sequence[float]
    ) -> None:
        kind = self.action_kind()
        self._learns(make(kind), kind, observations, right)

    def _learns(
        self, toy: Environment, kind: ActionKind, observations: Sequence[float], right: Sequence[float]
    ) -> None:
        """Train until the policy does what is right at each observation."""
        if self.is_offline():
            skip("the trainer learns without an environment")
        seen, wanted = np.array(observations, np.float32), np.array(right, np.float32)
        steps, looks = self.probe_steps, 0
        with global_seed(0):
            spec, network = spec_of(toy), self.probe_network
            trainer = self.make(spec, max_steps=steps, network=network, options=self.probe_config)
            driver = Driver(toy, trainer)
            while driver.steps < steps and looks < _LOOKS:
                driver.advance(max(steps // 40, 1))
                looks = looks + 1 if _is_right(trainer.policy, seen, wanted) else 0
        shares = zip(_shares(trainer.policy, seen, wanted), observations, strict=True)
        found = "right actions: " + ", ".join(f"{share:.0%} at {value:g}" for share, value in shares)
        expected = f"more than {_BETTER_THAN_CHANCE:.0%}, and the most likely one"
        require(looks >= _LOOKS, f"{type(toy).__name__}, {kind} action: learned in {steps} steps", found, expected)


def _is_right(policy: Policy, seen: npt.NDArray[np.float32], wanted: npt.NDArray[np.float32]) -> bool:
    likely = signed_action(policy.act([seen[:, None]], deterministic=True))
    return bool((np.sign(likely) == wanted).all() and (_shares(policy, seen, wanted) > _BETTER_THAN_CHANCE).all())


def _shares(policy: Policy, seen: npt.NDArray[np.float32], wanted: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Part of sampled actions that are right, at each observation."""
    rows = np.repeat(seen, _SAMPLES)[:, None]
    sampled = signed_action(policy.act([rows], generator=np.random.default_rng(0)))
    right = np.sign(sampled).reshape(len(seen), _SAMPLES) == wanted[:, None]
    shares: npt.NDArray[np.float64] = right.mean(axis=1)
    return shares
