"""A run from start to end: environments, learners, files, writers."""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from agents_core.config import Experiment, load_experiment
from agents_core.contracts.demonstration import Demonstration
from agents_core.contracts.worker_pool import WorkerPool
from agents_core.errors import AgentsError, EnvironmentFailedError, UserError
from agents_core.registry import Registry
from agents_core.spec import BehaviorSpec
from agents_core.timers import Timers
from agents_core.training.build import make_trainer, make_writers, open_pool, set_threads
from agents_core.training.checkpoint import CheckpointStore
from agents_core.training.checkpoint_files import Checkpoint
from agents_core.training.clock import RunClock
from agents_core.training.evaluator import Evaluator
from agents_core.training.failures import explained_failures
from agents_core.training.learner import Learner
from agents_core.training.loop import TrainingLoop
from agents_core.training.offline import OfflineLoop, behavior_demonstrations, is_offline
from agents_core.training.recorder import Recorder
from agents_core.training.run_directory import RunDirectory, Status
from agents_core.training.run_options import RunOptions, RunResult
from agents_core.training.stop import StopSignal
from agents_core.training.student import learner_kind
from agents_core.training.taking_over import take_over
from agents_core.training.versions import core_versions, plugin_versions

Loop = TrainingLoop | OfflineLoop

_log = logging.getLogger(__name__)


def train(experiment: Experiment, registry: Registry, options: RunOptions) -> RunResult:
    """Train an experiment in a run directory of its own, or continue one.

    Raises:
        AgentsError: What went wrong, with its exit code; a new run that cannot start leaves nothing on disk.
    """
    if not options.resume:
        return _Run(experiment, registry, options, None).train()
    if options.run_id is None:
        raise UserError("to resume a run, name it")
    return _Run(experiment, registry, options, RunDirectory.open(options.run_id, options.results)).train()


def resume_run(
    run: str | Path,
    results: Path,
    registry: Registry,
    *,
    max_steps: int | None = None,
    overrides: Sequence[str] = (),
    drop_replay: bool = False,
    quiet: bool = False,
) -> RunResult:
    """Continue a run from its last checkpoint, with its own experiment.

    Args:
        run: A run directory, or a run id under `results`.
        results: Folder of runs.
        registry: Where components are found.
        max_steps: New end of the run for every behavior.
        overrides: As `--set`.
        drop_replay: Start with empty buffers.
        quiet: Print nothing.
    """
    directory = RunDirectory.open(run, results)
    longer = [] if max_steps is None else [f"behaviors.*.max_steps={max_steps}"]
    experiment = load_experiment(directory.config_path, registry, overrides=[*longer, *overrides])
    options = RunOptions(resume=True, drop_replay=drop_replay, quiet=quiet)
    return _Run(experiment, registry, options, directory).train()


class _Run:
    """One process of a run, from its environments to its summary."""

    def __init__(
        self, experiment: Experiment, registry: Registry, options: RunOptions, resumed: RunDirectory | None
    ) -> None:
        self._experiment = experiment
        self._registry = registry
        self._options = options
        self._resumed = resumed
        self._versions = core_versions()
        self._plugins = plugin_versions(registry)
        self._timers = Timers()
        self._clock = RunClock()
        self._initial: Mapping[str, Checkpoint] = {}
        self._checkpoints: CheckpointStore | None = None
        self._is_offline = not options.inference and is_offline(experiment)

    def train(self) -> RunResult:
        """Make everything, train, and put everything away again."""
        self._experiment.require_files()
        with explained_failures(self._registry), ExitStack() as stack:
            stop = stack.enter_context(StopSignal())
            if self._resumed is not None:
                stack.enter_context(self._resumed)
                self._resumed.resume(command=sys.argv, versions=self._versions, plugins=self._plugins)
                self._resumed.start_log()
                self._initial = self._store(self._resumed).load_last()
                if self._is_complete():
                    return self._nothing_to_do(self._resumed)
                newest = max(self._initial.values(), key=lambda checkpoint: checkpoint.number)
                self._clock.load_state_dict(newest.run["clock"])
            elif self._options.init_from is not None:
                self._initial = load_initial(self._options.init_from, self._options.results)
            pool = open_pool(self._experiment, stack, is_offline=self._is_offline)
            loop = self._make_loop(pool)
            set_threads(self._experiment, loop.specs)
            directory = self._resumed or stack.enter_context(self._make_directory())
            try:
                if self._resumed is None:
                    directory.start_log()
                directory.write_config(self._experiment.to_yaml())
                recorder = self._make_recorder(stack, directory, pool, stop)
            except BaseException:
                if self._resumed is None:
                    directory.discard()
                raise
            return self._train(loop, recorder, directory, pool, stop)

    def _make_loop(self, pool: WorkerPool | None) -> Loop:
        if self._is_offline or pool is None:
            demonstrations = behavior_demonstrations(self._experiment, self._registry, pool)
            return OfflineLoop(demonstrations, self._make_learner, self._timers, self._clock)
        loop = TrainingLoop(self._experiment, pool, self._make_learner, self._timers, self._clock, self._resumed_at())
        loop.reset()
        return loop

    def _train(
        self,
        loop: Loop,
        recorder: Recorder,
        directory: RunDirectory,
        pool: WorkerPool | None,
        stop: StopSignal,
    ) -> RunResult:
        """The loop, and what is written when it ends, however it ends."""
        directory.begin()
        _log.info("started: %s", shlex.join(sys.argv))
        self._registry.run_started(run_directory=directory.path, config=self._experiment.to_dict())
        status: Status = "failed"
        try:
            try:
                status = "finished" if loop.run(recorder, stop) else "interrupted"
            except EnvironmentFailedError as error:
                self._stop(loop, recorder)  # The policies are sound; only the environment is not.
                raise EnvironmentFailedError(f"{error}\nThe traceback is in {directory.log_path}") from error
            if status == "finished" and not self._options.inference:
                recorder.finish(loop.learners)
            else:
                self._stop(loop, recorder)
        finally:
            self._close_books(loop, directory, pool, status)
        best = {} if pool is None else {name: learner.best_return for name, learner in loop.learners.items()}
        return RunResult(
            directory.path,
            status,
            {name: self._totals(learner) for name, learner in loop.learners.items()},
            {name: value for name, value in best.items() if value is not None},
        )

    def _close_books(self, loop: Loop, directory: RunDirectory, pool: WorkerPool | None, status: Status) -> None:
        """Write how the run ended. A full disk must not hide the error that ended it, so one here is a warning."""
        if pool is not None:
            self._timers.merge("environment", pool.timers())
        writes: tuple[Callable[[], None], ...] = (
            lambda: self._timers.save(directory.timers_path, {**self._versions, **self._plugins}),
            lambda: self._write_summary(loop, directory, status),
            lambda: directory.finish(status),
        )
        for write in writes:
            try:
                write()
            except (OSError, AgentsError) as error:
                _log.warning("%s", error)
        for name in self._experiment.behaviors.keys() - loop.learners.keys() - {"*"}:
            _log.warning("behavior '%s' is configured, but the environment never showed it", name)
        _log.info("%s after %.1f s", status, self._clock.wall_seconds)
        self._registry.run_finished(run_directory=directory.path, status=status)

    def _stop(self, loop: Loop, recorder: Recorder) -> None:
        """End early. An exact run keeps its last checkpoint, since one taken now would lead to other weights."""
        if self._options.inference or self._experiment.checkpoints.exact:
            recorder.write_last_summaries(loop.learners.values())
        else:
            recorder.stop(loop.learners)

    def _make_learner(self, name: str, spec: BehaviorSpec, demonstration: Demonstration | None = None) -> Learner:
        section, acts_only = self._experiment.behavior(name), self._options.inference
        try:
            trainer = make_trainer(
                self._experiment,
                name,
                section,
                spec,
                self._timers,
                self._registry,
                acts_only=acts_only,
                demonstration=demonstration,
            )
            learner = learner_kind(trainer, demonstration)(
                name,
                section,
                spec,
                trainer,
                started_at=self._clock.working_seconds,
                acts_only=acts_only,
            )
        except MemoryError as error:
            raise UserError(
                f"behavior '{name}': there is not enough memory for its buffers and networks: {error}"
            ) from error
        checkpoint = self._initial.get(name)
        if checkpoint is not None:
            is_other = self._resumed is None and checkpoint.state.get("trainer") != learner.kind
            take_over(learner, checkpoint, only_policy=is_other)
            if self._resumed is not None and not self._options.inference:
                learner.load_state_dict(checkpoint.state)
                if not self._options.drop_replay:
                    self._store(self._resumed).replay.load(name, checkpoint.replay, trainer.buffer, spec)
        return learner

    def _make_directory(self) -> RunDirectory:
        section = self._experiment.environment
        trainers = sorted({behavior.trainer.type for behavior in self._experiment.behaviors.values()})
        return RunDirectory.create(
            self._options.results,
            self._options.run_id,
            words=[*trainers, *([] if section is None else [str(section.options().get("id") or section.type)])],
            seed=self._experiment.seed,
            command=sys.argv,
            versions=self._versions,
            plugins=self._plugins,
            force=self._options.force,
        )

    def _make_recorder(
        self, stack: ExitStack, directory: RunDirectory, pool: WorkerPool | None, stop: StopSignal
    ) -> Recorder:
        writers = make_writers(self._experiment, directory.path, self._resumed_at(), quiet=self._options.quiet)
        for writer in writers:
            stack.callback(writer.close)
            writer.text("hyperparameters", self._experiment.to_yaml())
        evaluator = Evaluator(self._experiment, pool, stop)
        stack.callback(evaluator.close)
        return Recorder(
            self._experiment, self._registry, self._store(directory), writers, evaluator, self._timers, self._clock
        )

    def _store(self, directory: RunDirectory) -> CheckpointStore:
        if self._checkpoints is None:
            keep, versions = self._experiment.checkpoints.keep, {**self._versions, **self._plugins}
            self._checkpoints = CheckpointStore(directory.checkpoints_path, keep=keep, versions=versions)
        return self._checkpoints

    def _resumed_at(self) -> dict[str, int]:
        if self._resumed is None:
            return {}
        return {name: checkpoint.step for name, checkpoint in self._initial.items()}

    def _is_complete(self) -> bool:
        return not self._options.inference and all(
            checkpoint.step >= self._experiment.behavior(name).max_steps for name, checkpoint in self._initial.items()
        )

    def _nothing_to_do(self, directory: RunDirectory) -> RunResult:
        directory.finish("finished")
        steps = ", ".join(f"{name} at step {checkpoint.step}" for name, checkpoint in self._initial.items())
        note = f"{directory.path} is finished ({steps}); to train longer: agents resume {directory.path} --max-steps N"
        return RunResult(directory.path, "finished", note=note)

    def _write_summary(self, loop: Loop, directory: RunDirectory, status: Status) -> None:
        directory.write_summary(
            {
                "status": status,
                "wall_seconds": self._clock.wall_seconds,
                "behaviors": {name: self._totals(learner) for name, learner in loop.learners.items()},
            }
        )

    def _totals(self, learner: Learner) -> dict[str, float | None]:
        return learner.summary.totals(learner.step, self._clock.working_seconds)


def load_initial(run: str, results: Path) -> dict[str, Checkpoint]:
    """The weights that a new run starts from: `best` of each behavior if there is one, else `last`."""
    store = CheckpointStore(RunDirectory.open(run, results).checkpoints_path)
    return {name: store.load(name) for name in store.behaviors()}
