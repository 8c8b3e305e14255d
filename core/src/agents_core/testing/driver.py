"""A loop that is just enough to train: one environment, one behavior, any trainer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from agents_core.columns import Array, Columns
from agents_core.contracts.environment import Actions, BehaviorSteps, Environment
from agents_core.contracts.trainer import Trainer
from agents_core.experience.collector import Collector, TrajectoryCollector
from agents_core.experience.transitions import TransitionCollector
from agents_core.trajectory import Trajectories

_FRUITLESS_STEPS = 100_000


class Driver:
    """Steps an environment and hands what it collects to a trainer.

    Attributes:
        stats: Of every update.
        returns: Of every episode that ended.
        handed_out: What the trainer was given since its last update, as copies of its own.
    """

    def __init__(
        self,
        environment: Environment,
        trainer: Trainer,
        *,
        seed: int = 1,
        time_horizon: int = 32,
        after: Driver | None = None,
        on_update: Callable[[Driver], None] | None = None,
    ) -> None:
        """Reset the environment.

        Args:
            environment: Has one behavior.
            trainer: Learns.
            seed: Of the environment.
            time_horizon: Rows after which a trajectory is cut, of a trainer that needs trajectories.
            after: Go on with the counters of this one, as a resumed run would.
            on_update: Called after each update.
        """
        self.environment = environment
        self.trainer = trainer
        self.stats: list[dict[str, float]] = []
        self.returns: list[float] = []
        self.handed_out: list[Trajectories | Columns] = []
        self.collector = make_collector(trainer, time_horizon)
        if after is not None:
            self.collector.steps, self.collector.episodes_begun = after.steps, after.collector.episodes_begun
        self._on_update = on_update
        self.restart(seed)

    @property
    def steps(self) -> int:
        """Decisions taken."""
        return self.collector.steps

    def restart(self, seed: int) -> None:
        """Reset the environment and forget open episodes."""
        self.collector.restart()
        steps = self.environment.reset(seed).behaviors
        (self._behavior,) = self.environment.behavior_specs
        self._receive(steps)

    def updates(self, count: int) -> Driver:
        """Train until that many more updates are done."""
        goal = len(self.stats) + count
        return self.until(lambda: len(self.stats) >= goal)

    def advance(self, steps: int) -> Driver:
        """Train for that many decisions more, and on until the trainer has been handed all of them."""
        goal = self.steps + steps
        return self.until(lambda: self.steps >= goal and not self.collector.rows)

    def until(self, is_done: Callable[[], bool]) -> Driver:
        """Train until then.

        Raises:
            RuntimeError: The trainer takes in a lot and never updates.
        """
        updated, updated_at = len(self.stats), self.steps
        while not is_done():
            self._step()
            if self.collector.rows >= max(self.trainer.rollout_size, 1):
                self.learn(self.collector.take())
            if len(self.stats) > updated:
                updated, updated_at = len(self.stats), self.steps
            elif self.steps - updated_at > _FRUITLESS_STEPS:
                raise RuntimeError(f"the trainer made no update in {_FRUITLESS_STEPS} steps")
        return self

    def rollout(self) -> Trajectories | Columns:
        """Collect what the trainer wants at once, and keep it."""
        while self.collector.rows < max(self.trainer.rollout_size, 1):
            self._step()
        return copied(self.collector.take())

    def evaluate(self, episodes: int, *, seed: int = 77) -> float:
        """Mean return of the most likely actions, from a reset on; call `restart` to train on after it."""
        policy = self.trainer.policy
        steps = self.environment.reset(seed).behaviors[self._behavior]
        running = np.zeros(len(steps.decision))
        memory = np.zeros((len(running), policy.memory_size), np.float32)
        finished: list[float] = []
        while len(finished) < episodes:
            decision = steps.decision
            actions = policy.act(decision.observations, decision.action_mask, memory=memory, deterministic=True)
            if actions.memory is not None:
                memory = actions.memory.copy()
            steps = self.environment.step({self._behavior: actions}).behaviors[self._behavior]
            ended = steps.terminal.agent_id
            finished += (running[ended] + steps.terminal.reward).tolist()
            running[ended], memory[ended] = 0, 0
            running[steps.decision.agent_id] += steps.decision.reward
        return float(np.mean(finished))

    def learn(self, experience: Trajectories | Columns) -> None:
        """Hand experience to the trainer, and update if it is ready."""
        experience = copied(experience)
        self.handed_out.append(experience)
        self.trainer.process(experience, self.steps)
        if self.trainer.is_ready():
            self.stats.append(self.trainer.update())
            if self._on_update is not None:
                self._on_update(self)
            self.handed_out.clear()

    def _step(self) -> None:
        actions: dict[str, Actions] = {}
        decision = self.collector.decision
        if decision is not None:
            chosen = self.trainer.policy.act(
                self.collector.observations, decision.action_mask, memory=self.collector.memory
            )
            self.collector.record(chosen)
            actions[self._behavior] = chosen
        self._receive(self.environment.step(actions).behaviors)

    def _receive(self, steps: Mapping[str, BehaviorSteps]) -> None:
        if self._behavior in steps:
            self.collector.receive(steps[self._behavior])
            self.returns += self.collector.pop_episodes().returns.tolist()
        else:
            self.collector.wait()


def make_collector(trainer: Trainer, time_horizon: int) -> Collector:
    """What collects the experience that the trainer needs."""
    policy = trainer.policy
    if trainer.needs == "transitions":
        return TransitionCollector(policy.spec, policy.memory_size)
    return TrajectoryCollector(policy.spec, trainer.rollout_size, time_horizon, policy.memory_size)


def columns_of(experience: Trajectories | Columns) -> Columns:
    """The rows of experience of either form."""
    return experience.columns if isinstance(experience, Trajectories) else experience


def arrays_of(experience: Trajectories | Columns) -> dict[str, Array]:
    """Every array of experience, by a name."""
    arrays = dict(columns_of(experience).fields)
    if isinstance(experience, Trajectories):
        arrays["lengths"] = experience.lengths
        arrays |= {f"final_observations[{place}]": array for place, array in enumerate(experience.final_observations)}
    return arrays


def copied(experience: Trajectories | Columns) -> Trajectories | Columns:
    """The same experience in arrays of its own."""
    columns = Columns({name: array.copy() for name, array in columns_of(experience).fields.items()})
    if not isinstance(experience, Trajectories):
        return columns
    final = tuple(array.copy() for array in experience.final_observations)
    return Trajectories(columns, experience.lengths.copy(), final)
