"""Training from demonstrations: no environment is stepped."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from agents_core.columns import Columns
from agents_core.config import BehaviorSection, Experiment
from agents_core.config.merging import EVERY
from agents_core.contracts.demonstration import Demonstration
from agents_core.contracts.worker_pool import WorkerPool
from agents_core.demonstrations.loading import load_demonstrations
from agents_core.errors import UserError
from agents_core.plugin import TrainerSpec
from agents_core.registry import Registry
from agents_core.spec import BehaviorSpec
from agents_core.timers import Timers
from agents_core.training.clock import RunClock
from agents_core.training.learner import Learner
from agents_core.training.recorder import Recorder
from agents_core.training.stop import StopSignal

DEFAULT_NAME = "default"
"""Of a behavior that nobody names."""

_log = logging.getLogger(__name__)


def is_offline(experiment: Experiment) -> bool:
    """Whether all behaviors learn from demonstrations alone.

    Raises:
        UserError: Only some do.
    """
    offline = [name for name, section in experiment.behaviors.items() if _is_offline(section)]
    online = [name for name in experiment.behaviors if name not in offline]
    if offline and online:
        raise UserError(
            f"behavior {offline[0]!r} learns from demonstrations alone and {online[0]!r} from an environment; "
            "train them in runs of their own"
        )
    return bool(offline)


def _is_offline(section: BehaviorSection) -> bool:
    spec, config = section.trainer.component.spec, section.trainer.config
    return isinstance(spec, TrainerSpec) and spec.offline and getattr(config, "demo_path", None) is not None


def behavior_demonstrations(
    experiment: Experiment, registry: Registry, pool: WorkerPool | None
) -> dict[str, Demonstration]:
    """What each behavior learns from.

    Args:
        experiment: Is offline.
        registry: Where formats are found.
        pool: Has the behaviors that policies are evaluated in; None = there is no environment.

    Raises:
        UserError: A demonstration is missing, damaged, empty or of another spec than the environment's.
    """
    if pool is not None:
        pool.reset()  # Some environments know their behaviors only then.
        specs = pool.behavior_specs
        return {name: _load(experiment.behavior(name), registry, spec) for name, spec in specs.items()}
    loaded = {name: _load(section, registry, None) for name, section in experiment.behaviors.items() if name != EVERY}
    if not loaded:
        demonstration = _load(experiment.behaviors[EVERY], registry, None)
        loaded[demonstration.behavior or DEFAULT_NAME] = demonstration
    return loaded


def _load(section: BehaviorSection, registry: Registry, spec: BehaviorSpec | None) -> Demonstration:
    paths: Path | list[Path] = vars(section.trainer.config)["demo_path"]
    return load_demonstrations(paths, spec=spec, registry=registry)


class OfflineLearner(Learner):
    """One behavior that learns from a demonstration; a step is a transition trained on."""

    @property
    def is_done(self) -> bool:
        return super().is_done or not self.trainer.is_ready()

    @property
    def score(self) -> float | None:
        return self.trainer.score

    def learn(self) -> dict[str, float] | None:
        """Let the trainer update once."""
        self.trainer.process(Columns({}), self.step)
        stats = self.trainer.update()
        self.collector.steps += self.trainer.rows_learned
        self.summary.add_stats(stats)
        self.updated_at = self.step
        return stats


class OfflineLoop:
    """Lets behaviors learn until each has reached its `max_steps` or has nothing more to gain, or a stop is requested.

    Attributes:
        learners: By behavior.
    """

    def __init__(
        self,
        demonstrations: Mapping[str, Demonstration],
        make_learner: Callable[[str, BehaviorSpec, Demonstration], Learner],
        timers: Timers,
        clock: RunClock,
    ) -> None:
        self._timers = timers
        self._clock = clock
        self.learners: dict[str, Learner] = {
            name: make_learner(name, demonstration.spec, demonstration)
            for name, demonstration in demonstrations.items()
        }

    @property
    def specs(self) -> Iterable[BehaviorSpec]:
        """Of all behaviors."""
        return [learner.spec for learner in self.learners.values()]

    def run(self, recorder: Recorder, stop: StopSignal) -> bool:
        """Train to the end; False = stopped."""
        while not all(learner.is_done for learner in self.learners.values()):
            for learner in self.learners.values():
                if stop.requested:
                    _log.warning("stopping and saving; a second Ctrl-C stops at once")
                    return False
                if not learner.is_done:
                    self._update(learner, recorder)
            recorder.progress(self.learners.values())
        return True

    def _update(self, learner: Learner, recorder: Recorder) -> None:
        with self._clock.working(), self._timers.time("update"), np.errstate(all="ignore"):
            stats: dict[str, Any] | None = learner.learn()
        if stats is not None:
            recorder.after_update(learner, self.learners, stats)
        if learner.step >= learner.summary.next_step:
            recorder.summarise(learner)
