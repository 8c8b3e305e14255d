"""The `process` worker pool: environments in processes of their own, which share memory with the trainer."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from multiprocessing.util import Finalize

from agents_core.contracts.environment import Actions, EnvironmentSteps
from agents_core.contracts.worker_pool import WorkerPool, WorkerPoolContext
from agents_core.environments.channel import STEP
from agents_core.environments.checks import add_specs
from agents_core.environments.config import ProcessConfig
from agents_core.environments.hosting import places
from agents_core.environments.messages import Made, Make, Reset
from agents_core.environments.pool_memory import PoolMemory
from agents_core.environments.pool_steps import PoolSteps
from agents_core.environments.worker_process import WORKER_NAME, WorkerLostError, WorkerProcess, close_workers
from agents_core.errors import AgentsError, EnvironmentFailedError, UserError
from agents_core.spec import BehaviorSpec

logger = logging.getLogger(__name__)


class ProcessPool(WorkerPool):
    """Steps environments in parallel in spawned processes, several in each.

    A worker that dies or hangs is replaced, up to `max_restarts` times: its agents' episodes are reported as cut off
    at what they saw last, and new ones begin. An exception in an environment is never retried.

    Workers do not run the main script again, unless the environment is defined in it; then what starts the training
    must stand under `if __name__ == "__main__":`.

    Raises:
        EnvironmentFailedError: From every method, when an environment raised or returned what it may not, or a worker
            was lost more often than allowed. The pool can only be closed then.
        UserError: The environment cannot be sent to another process, allows fewer instances, or as its factory raised.
    """

    def __init__(self, context: WorkerPoolContext[ProcessConfig]) -> None:
        _refuse_workers_of_workers()
        self._config = context.config
        self._limit = f"{self._config.step_timeout:g} s (environment.workers.step_timeout)"
        self._workers, self._make = _share_out(context)
        self._memory = PoolMemory(self._workers)
        self._steps = PoolSteps(self._workers, self._memory)
        self._half = 0
        self._seed: int | None = None
        self._parameters: Mapping[str, float] | None = None
        self._is_usable = True
        # Closes the workers too when the program ends without `close`; before `multiprocessing` waits for their end.
        self._finalizer = Finalize(self, close_workers, (self._workers,), exitpriority=100)
        try:
            self._start()
        except BaseException:
            self._finalizer()
            raise

    @property
    def behavior_specs(self) -> Mapping[str, BehaviorSpec]:
        return dict(self._steps.specs)

    def reset(self, seed: int | None = None, parameters: Mapping[str, float] | None = None) -> EnvironmentSteps:
        self._begin_turn()
        self._seed = self._seed if seed is None else seed
        self._parameters = self._parameters if parameters is None else parameters
        self._steps.forget_agents()
        for worker in self._workers:
            worker.send(Reset(seed, parameters, 0, self._half))
        return self._end_turn()

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        self._begin_turn()
        self._steps.write_actions(actions)
        command = STEP[self._half]
        for worker in self._workers:
            worker.signal(command)
        return self._end_turn()

    def close(self) -> None:
        failures: list[AgentsError] = self._finalizer() or []
        self._is_usable = False
        if failures:
            raise failures[0]

    def timers(self) -> dict[str, dict[str, float]]:
        """Seconds that workers spent in their environments, summed: they run side by side."""
        steps, step_count, resets, reset_count = self._memory.seconds().tolist()
        return {
            "worker_step": {"total": steps, "count": step_count},
            "worker_reset": {"total": resets, "count": reset_count},
        }

    def _start(self) -> None:
        """Start all workers at once, but make one's environments first: what is wrong with them is said once."""
        for worker in self._workers:
            worker.start()
        try:
            self._make_environments(self._workers[:1])
            self._make_environments(self._workers[1:])
        except WorkerLostError as lost:
            raise EnvironmentFailedError(
                f"{lost} before its environments were made; what it printed stands above"
            ) from None

    def _make_environments(self, workers: Sequence[WorkerProcess]) -> None:
        seconds = self._config.start_timeout
        deadline = time.monotonic() + seconds
        for worker in workers:
            worker.send(self._make[worker.index])
        for worker in workers:
            made = worker.receive(deadline, f"{seconds:g} s (environment.workers.start_timeout)")
            if isinstance(made, Made):
                self.max_instances, self.hidden_state = made.max_instances, made.hidden_state
                add_specs(self._steps.specs, made.specs, str(worker))
        self._memory.attach(workers)

    def _begin_turn(self) -> None:
        # After a turn that did not come to its end, answers may still be on their way.
        if not self._is_usable:
            raise RuntimeError("this worker pool is closed, or a step failed or was interrupted: it can only be closed")
        self._is_usable = False
        self._half = 1 - self._half

    def _end_turn(self) -> EnvironmentSteps:
        """Wait for all workers, replace those that are lost, and merge what they give."""
        deadline = time.monotonic() + self._config.step_timeout
        answers: list[object] = []
        lost: dict[int, str] = {}
        for worker in self._workers:
            try:
                answers.append(worker.receive(deadline, self._limit))
            except WorkerLostError as loss:
                answers.append(None)
                lost[worker.index] = str(loss)
        for index, reason in lost.items():
            answers[index] = self._replace(self._workers[index], reason)
        steps = self._steps.merge(self._half, answers, lost)
        self._is_usable = True
        return steps

    def _replace(self, worker: WorkerProcess, reason: str) -> object:
        """Start a lost worker anew.

        Returns:
            Its answer to a reset.
        """
        allowed = self._config.max_restarts
        while worker.restarts < allowed:
            worker.restarts += 1
            logger.warning("%s; starting it again (%d of %d)", reason, worker.restarts, allowed)
            self._memory.keep_seconds(worker)
            worker.start()
            try:
                self._make_environments([worker])
                worker.send(Reset(self._seed, self._parameters, worker.restarts, self._half))
                return worker.receive(time.monotonic() + self._config.step_timeout, self._limit)
            except WorkerLostError as loss:
                reason = str(loss)
        raise EnvironmentFailedError(f"{reason}; restarts: {allowed} of {allowed} (environment.workers.max_restarts)")


def _share_out(context: WorkerPoolContext[ProcessConfig]) -> tuple[list[WorkerProcess], list[Make]]:
    """The workers, not started yet, with neighbouring environments each, and what tells them to make these."""
    try:
        payload = pickle.dumps(context.make_environment)
    except Exception as error:
        raise UserError(
            f"the environment cannot be sent to worker processes: {type(error).__name__}: {error}; define it at the "
            "top of a module, or use environment.workers: {type: inline}"
        ) from error
    count = min(context.config.count or _usable_cpus(), context.num_envs)
    objects = places(context.num_envs, context.hosts_many, count)
    bounds = [len(objects) * index // count for index in range(count + 1)]
    shares = [tuple(objects[first:end]) for first, end in pairwise(bounds)]
    # The pickle names the module of everything that it refers to.
    imports_main = b"__main__" in payload
    workers = [WorkerProcess(index, share, imports_main) for index, share in enumerate(shares)]
    return workers, [Make(payload, share, len(objects), context.num_envs) for share in shares]


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _refuse_workers_of_workers() -> None:
    if multiprocessing.current_process().name.startswith(WORKER_NAME):
        raise UserError(
            "a worker process ran the main script again, which would start workers of its own: the environment is "
            'defined in that script, so put what starts the training under `if __name__ == "__main__":`, or move the '
            "environment to a module"
        )
