"""What a run leaves behind while it trains: statistics, evaluations, checkpoints."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence

from agents_core.config import Experiment
from agents_core.contracts.stats import StatsWriter
from agents_core.errors import NonFiniteError
from agents_core.registry import Registry
from agents_core.timers import Timers
from agents_core.training.checkpoint import CheckpointStore
from agents_core.training.checkpoint_files import Snapshot
from agents_core.training.clock import RunClock
from agents_core.training.evaluator import Evaluator
from agents_core.training.interval import Interval
from agents_core.training.learner import Learner
from agents_core.training.state_tree import first_non_finite
from agents_core.training.summary import record_gauges

EVALUATIONS_A_RUN = 10

_log = logging.getLogger(__name__)


class Recorder:
    """Writes summaries, evaluates and saves the learners of a run, each when it is due."""

    def __init__(
        self,
        experiment: Experiment,
        registry: Registry,
        store: CheckpointStore,
        writers: Sequence[StatsWriter],
        evaluator: Evaluator,
        timers: Timers,
        clock: RunClock,
    ) -> None:
        self._experiment = experiment
        self._registry = registry
        self._store = store
        self._writers = writers
        self._evaluator = evaluator
        self._timers = timers
        self._clock = clock
        self._evaluations: dict[str, Interval] = {}
        self._checkpoints: dict[str, Interval] = {}
        self._saved_steps: dict[str, int] = {}
        self._evaluated_steps: dict[str, int] = {}

    def progress(self, learners: Iterable[Learner]) -> None:
        """Show where the behaviors are."""
        for learner in learners:
            stats = learner.summary.progress(learner.step, self._clock.working_seconds)
            for writer in self._writers:
                writer.progress(learner.name, learner.step, stats)

    def summarise(self, learner: Learner) -> None:
        """Write the summary of a behavior."""
        stats = learner.summary.take(learner.step, self._clock.working_seconds)
        record_gauges(self._timers, learner.name, stats)
        for writer in self._writers:
            writer.write(learner.name, learner.step, self._clock.wall_seconds, stats)

    def after_update(self, learner: Learner, learners: Mapping[str, Learner], stats: Mapping[str, float]) -> bool:
        """Evaluate and save what is due after an update of `learner`.

        Returns:
            Whether a checkpoint was saved.
        """
        self._registry.update_finished(behavior=learner.name, step=learner.step, stats=stats)
        best: set[str] = set()
        if self._is_evaluation_due(learner):
            best = self._evaluate(learners)
        due = self._is_save_due(learner)
        if due and not self._evaluates(learner) and _improves(learner, learner.score):
            best.add(learner.name)
        if due or best:
            self.save(learners, best)
        return due or bool(best)

    def finish(self, learners: Mapping[str, Learner]) -> None:
        """Evaluate what was trained since the last evaluation, and stop."""
        is_changed = any(
            self._evaluates(learner) and self._evaluated_steps.get(name) != learner.updated_at
            for name, learner in learners.items()
        )
        self.stop(learners, self._evaluate(learners) if is_changed else ())

    def stop(self, learners: Mapping[str, Learner], best: Collection[str] = ()) -> None:
        """Write the last summaries and save what was not saved yet."""
        self.write_last_summaries(learners.values())
        if best or any(self._saved_steps.get(name) != learner.step for name, learner in learners.items()):
            self.save(learners, best)

    def write_last_summaries(self, learners: Iterable[Learner]) -> None:
        """Write what was gathered since the last summary of each behavior."""
        for learner in learners:
            if learner.summary.has_news(learner.step):
                self.summarise(learner)

    def save(self, learners: Mapping[str, Learner], best: Collection[str] = ()) -> None:
        """Save all behaviors at this moment."""
        for learner in learners.values():  # What is due goes out with this save, not again after it.
            self._is_save_due(learner)
            if learner.step >= learner.summary.next_step:
                self.summarise(learner)
        is_exact = self._experiment.checkpoints.exact
        snapshots = {name: _snapshot(learner, is_exact) for name, learner in learners.items()}
        with self._timers.time("save"):
            paths = self._store.save(snapshots, {"clock": self._clock.state_dict()}, best=best)
        for name, path in paths.items():
            self._saved_steps[name] = learners[name].step
            _log.info("%s: step %d, saved %s", name, learner.step, path)
            self._registry.checkpoint_saved(behavior=name, step=learners[name].step, path=path)

    def _is_save_due(self, learner: Learner) -> bool:
        return self._interval(self._checkpoints, learner, self._experiment.checkpoints.interval).is_due(learner.step)

    def _is_evaluation_due(self, learner: Learner) -> bool:
        return self._interval(self._evaluations, learner, self._evaluation_interval(learner)).is_due(learner.step)

    def _evaluate(self, learners: Mapping[str, Learner]) -> set[str]:
        """Evaluate all behaviors; the names of those that were never better."""
        policies = {name: learner.trainer.policy for name, learner in learners.items()}
        with self._timers.time("evaluate"):
            results = self._evaluator.evaluate(policies, self._experiment.evaluation.episodes)
        best = set()
        for name, result in results.items():
            learner = learners[name]
            stats = {"eval/mean_return": result.mean_return, "eval/mean_length": result.mean_length}
            learner.summary.add_stats(stats)
            self._is_evaluation_due(learner)
            self._evaluated_steps[name] = learner.updated_at
            _log.info("%s: step %d, evaluation %s", name, learner.step, result.mean_return)
            self._registry.evaluation_finished(behavior=name, step=learner.step, stats=stats)
            if _improves(learner, result.mean_return):
                best.add(name)
        return best

    def _evaluates(self, learner: Learner) -> bool:
        return self._evaluator.is_possible and self._evaluation_interval(learner) > 0

    def _evaluation_interval(self, learner: Learner) -> int:
        if not self._evaluator.is_possible:
            return 0
        interval = self._experiment.evaluation.interval
        return max(1, learner.section.max_steps // EVALUATIONS_A_RUN) if interval is None else interval

    @staticmethod
    def _interval(intervals: dict[str, Interval], learner: Learner, every: int) -> Interval:
        if learner.name not in intervals:
            intervals[learner.name] = Interval(every, learner.resumed_at)
        return intervals[learner.name]


def _snapshot(learner: Learner, is_exact: bool) -> Snapshot:
    """The learner as it is now, with its buffer where that is to be saved; `is_exact` = always.

    Raises:
        NonFiniteError: A weight of the policy is NaN or infinite, so that the last checkpoint must stay.
    """
    policy = learner.trainer.policy_state()
    name = first_non_finite(policy)
    if name is not None:
        raise NonFiniteError(
            f"behavior {learner.name!r}, step {learner.step}: {name} of the policy is not finite; nothing was saved"
        )
    buffer = learner.trainer.buffer
    kept = buffer if buffer is not None and (buffer.is_saved or is_exact) else None
    return Snapshot(learner.step, policy, learner.trainer.state_dict(), learner.state_dict(), kept)


def _improves(learner: Learner, mean_return: float | None) -> bool:
    """Whether no earlier return was better; of equals the one trained longer counts."""
    if mean_return is None or (learner.best_return is not None and mean_return < learner.best_return):
        return False
    learner.best_return = mean_return
    return True
