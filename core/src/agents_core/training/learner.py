"""One behavior of a run: its trainer, its collector and its counters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from agents_core.columns import Columns
from agents_core.config import BehaviorSection
from agents_core.contracts.environment import Actions, BehaviorSteps
from agents_core.contracts.trainer import Trainer
from agents_core.errors import UserError
from agents_core.experience.collector import Collector, TrajectoryCollector
from agents_core.experience.transitions import TransitionCollector
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.training.summary import BehaviorSummary
from agents_core.trajectory import Trajectories


class Learner:
    """Collects the experience of one behavior and trains on it, until `max_steps`."""

    def __init__(
        self,
        name: str,
        section: BehaviorSection,
        spec: BehaviorSpec,
        trainer: Trainer,
        *,
        started_at: float,
        acts_only: bool,
    ) -> None:
        self.name = name
        self.section = section
        self.spec = spec
        self.trainer = trainer
        self.collector = _make_collector(trainer, spec, section.time_horizon)
        self.summary = BehaviorSummary(name, section.summary_freq, started_at)
        self.acts_only = acts_only
        self.resumed_at = 0
        """Step at which this process took over."""
        self.updated_at = 0
        """Step of the last update."""
        self.best_return: float | None = None
        self.watchers: list[Callable[[Trajectories | Columns], None]] = []
        """Called with all experience, before it is learned from, and when nothing is learned any more."""
        self.is_closed = acts_only
        """Whether nothing is learned any more, while other behaviors may not be done yet."""

    @property
    def step(self) -> int:
        """Decisions taken so far, earlier processes of the run included."""
        return self.collector.steps

    @property
    def is_done(self) -> bool:
        return self.step >= self.section.max_steps

    @property
    def kind(self) -> str:
        """Which trainer it is."""
        return self.section.trainer.component.qualified_name

    @property
    def signals(self) -> dict[str, bool]:
        """Names of its reward signals, and whether each has a value."""
        sections = self.section.reward_signals
        return {name: not vars(sections[name].config)["strength"].is_zero for name in sorted(sections)}

    @property
    def score(self) -> float | None:
        """How good the policy is where it is not evaluated."""
        return self.summary.recent_return

    def receive(self, steps: BehaviorSteps) -> None:
        """Take in an environment step."""
        self.collector.receive(steps)
        if self.is_closed and not self.watchers:
            self.collector.discard()
        if len(steps.terminal):
            episodes = self.collector.pop_episodes()
            self.summary.add_episodes(episodes.returns, episodes.lengths)

    def act(self) -> Actions | None:
        """Actions of the agents that need one; None where nobody does."""
        decision = self.collector.decision
        if decision is None:
            return None
        actions = self.trainer.policy.act(
            self.collector.observations,
            decision.action_mask,
            memory=self.collector.memory,
            deterministic=self.acts_only,
        )
        self.collector.record(actions)
        return actions

    @property
    def has_experience(self) -> bool:
        """Whether there is enough to hand to the trainer: a rollout, or any transition.

        What is left of a rollout at `max_steps` counts from a quarter on.
        """
        enough = self.trainer.rollout_size / 4 if self.is_done else self.trainer.rollout_size
        return (not self.is_closed or bool(self.watchers)) and self.collector.rows >= max(enough, 1)

    def learn(self) -> dict[str, float] | None:
        """Hand the experience to the trainer and update; None where the trainer waits for more."""
        experience = self.collector.take()
        for watch in self.watchers:
            watch(experience)
        if self.is_closed:
            return None
        self.trainer.process(experience, self.step)
        if not self.trainer.is_ready():
            return None
        stats = self.trainer.update()
        self.summary.add_stats(stats)
        self.updated_at = self.step
        return stats

    def state_dict(self) -> dict[str, Any]:
        """Counters and statistics; the trainer's state is saved beside it."""
        return {
            "step": self.step,
            "trainer": self.kind,
            "reward_signals": self.signals,
            "episodes_begun": self.collector.episodes_begun,
            "best_return": self.best_return,
            "summary": self.summary.state_dict(),
            "spec": spec_to_tree(self.spec),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self.collector.steps = self.resumed_at = self.updated_at = state["step"]
        self.collector.episodes_begun = state.get("episodes_begun", 0)
        self.is_closed = self.is_closed or self.is_done
        self.best_return = state["best_return"]
        self.summary.load_state_dict(state["summary"])


def _make_collector(trainer: Trainer, spec: BehaviorSpec, time_horizon: int) -> Collector:
    memory_size = trainer.policy.memory_size
    if trainer.needs == "transitions":
        return TransitionCollector(spec, memory_size)
    return TrajectoryCollector(spec, trainer.rollout_size, time_horizon, memory_size)


def spec_to_tree(spec: BehaviorSpec) -> dict[str, Any]:
    """The spec as plain values."""
    tree = asdict(spec)
    for observation in tree["observations"]:
        observation["shape"] = list(observation["shape"])
    tree["observations"] = list(tree["observations"])
    tree["action"]["discrete_branches"] = list(tree["action"]["discrete_branches"])
    return tree


def spec_from_tree(tree: Mapping[str, Any]) -> BehaviorSpec:
    """The spec that `spec_to_tree` wrote."""
    observations = tuple(
        ObservationSpec(**{**observation, "shape": tuple(observation["shape"])}) for observation in tree["observations"]
    )
    action = {**tree["action"], "discrete_branches": tuple(tree["action"]["discrete_branches"])}
    return BehaviorSpec(observations, ActionSpec(**action))


def check_spec(behavior: str, trained: BehaviorSpec, found: BehaviorSpec) -> None:
    """Refuse an environment that differs from the one a policy was trained on."""
    if trained != found:
        raise UserError(
            f"behavior '{behavior}': the environment does not fit the trained policy\n"
            f"  trained on: {trained}\n  found:      {found}"
        )
