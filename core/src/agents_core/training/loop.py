"""The training loop: act, step, collect, learn; and at intervals summarise, evaluate, save."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from agents_core.config import Experiment
from agents_core.contracts.environment import Actions, EnvironmentSteps
from agents_core.contracts.worker_pool import WorkerPool
from agents_core.seeding import integer_seed, named_seed
from agents_core.spec import BehaviorSpec
from agents_core.timers import Timers
from agents_core.training.clock import RunClock
from agents_core.training.learner import Learner
from agents_core.training.recorder import Recorder
from agents_core.training.stop import StopSignal
from agents_core.training.student import introduce

_log = logging.getLogger(__name__)

PROGRESS_SECONDS = 0.25
"""Time between two looks at the progress bar."""


class TrainingLoop:
    """Steps the pool until every behavior seen has reached its `max_steps`, or a stop is requested.

    Args:
        make_learner: Called when a behavior first shows up.
        resumed_at: Step of each behavior in the checkpoint that the run goes on from.
    """

    def __init__(
        self,
        experiment: Experiment,
        pool: WorkerPool,
        make_learner: Callable[[str, BehaviorSpec], Learner],
        timers: Timers,
        clock: RunClock,
        resumed_at: Mapping[str, int],
    ) -> None:
        self._experiment = experiment
        self._pool = pool
        self._make_learner = make_learner
        self._timers = timers
        self._clock = clock
        self._resumed_at = resumed_at
        self._next_progress = 0.0
        self.learners: dict[str, Learner] = {}

    @property
    def specs(self) -> Iterable[BehaviorSpec]:
        """Of all behaviors of the environment."""
        return self._pool.behavior_specs.values()

    def run(self, recorder: Recorder, stop: StopSignal) -> bool:
        """Train to the end, after `reset`.

        Returns:
            Whether it came to its end; False = stopped.
        """
        while not self._is_finished():
            if stop.requested:
                _log.warning("stopping and saving; a second Ctrl-C stops at once")
                return False
            with self._clock.working():
                # What is not finite is looked for and named; NumPy's own warnings say neither what nor where.
                with self._timers.time("act"), np.errstate(all="ignore"):
                    actions = self._act()
                with self._timers.time("environment"):
                    steps = self._pool.step(actions)
                with self._timers.time("collect"):
                    self._receive(steps)
            for learner in list(self.learners.values()):
                self._attend(learner, recorder)
            if (now := time.monotonic()) >= self._next_progress:
                self._next_progress = now + PROGRESS_SECONDS
                recorder.progress(self.learners.values())
        return True

    def reset(self) -> None:
        """Start all environments anew; the seed follows from the run's seed and the steps taken so far."""
        steps = self._steps()
        for learner in self.learners.values():
            learner.collector.restart()
        seed = named_seed(self._experiment.seed, "environment", *(steps[name] for name in sorted(steps)))
        with self._timers.time("reset"):
            self._receive(self._pool.reset(integer_seed(seed)))

    def _steps(self) -> dict[str, int]:
        """Decisions of each behavior so far, those included that only an earlier process of the run has seen."""
        return {**self._resumed_at, **{name: learner.step for name, learner in self.learners.items()}}

    def _is_finished(self) -> bool:
        return bool(self.learners) and all(
            step >= self._experiment.behavior(name).max_steps for name, step in self._steps().items()
        )

    def _act(self) -> dict[str, Actions]:
        actions = {}
        for name, learner in self.learners.items():
            chosen = learner.act()
            if chosen is not None:
                actions[name] = chosen
        return actions

    def _receive(self, steps: EnvironmentSteps) -> None:
        for name, behavior_steps in steps.behaviors.items():
            self._learner(name).receive(behavior_steps)
        for name in self.learners.keys() - steps.behaviors.keys():
            self.learners[name].collector.wait()
        if steps.stats:
            for learner in self.learners.values():
                learner.summary.add_environment(steps.stats)

    def _learner(self, name: str) -> Learner:
        if name not in self.learners:
            self.learners[name] = self._make_learner(name, self._pool.behavior_specs[name])
            introduce(self.learners, self._pool.behavior_specs)
        return self.learners[name]

    def _attend(self, learner: Learner, recorder: Recorder) -> None:
        """Whatever is due for a behavior after an environment step."""
        if learner.has_experience:
            with self._clock.working(), self._timers.time("update"), np.errstate(all="ignore"):
                stats = learner.learn()
            is_saved = stats is not None and recorder.after_update(learner, self.learners, stats)
            if is_saved and self._experiment.checkpoints.exact:
                self.reset()
        learner.is_closed = learner.is_closed or learner.is_done
        if learner.step >= learner.summary.next_step:
            recorder.summarise(learner)
