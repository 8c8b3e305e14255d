"""A worker process as its parent sees it."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnProcess
from types import ModuleType

from agents_core.environments.channel import Channel, ChannelClosedError, Signal
from agents_core.environments.hosting import Place, environment_names
from agents_core.environments.memory import SharedMemory
from agents_core.environments.messages import Close, Closed, Failed
from agents_core.environments.worker import run_worker
from agents_core.errors import AgentsError, EnvironmentFailedError, UserError

logger = logging.getLogger(__name__)

WORKER_NAME = "agents-worker"
CLOSE_SECONDS = 3.0
"""Time that workers have to close their environments before they are killed."""
LIVENESS_SECONDS = 1.0
"""How often a worker that does not answer is looked after."""
REAP_SECONDS = 5.0
"""Time that the system may take to end a killed process."""


class WorkerLostError(Exception):
    """A worker died or hung; the text names it and says which."""


class RemoteTracebackError(Exception):
    """Shows the traceback of an exception in a worker, as the cause of the one that the parent raises."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


class WorkerProcess:
    """One process, which may be started again after it was lost.

    Attributes:
        index: Of the worker, from 0.
        places: Its environment objects.
        restarts: How many times it has been started again.
    """

    def __init__(self, index: int, places: tuple[Place, ...], imports_main: bool) -> None:
        self.index = index
        self.places = places
        self.restarts = 0
        self._imports_main = imports_main
        self._process: SpawnProcess | None = None
        self._channel: Channel | None = None
        self._end = "is not running"

    def __str__(self) -> str:
        first, last = self.places[0], self.places[-1]
        names = environment_names(first.first_env, last.first_env + last.num_envs - first.first_env)
        return f"worker {self.index} ({names})"

    def start(self) -> None:
        """Start the process."""
        context = multiprocessing.get_context("spawn")
        own, other = context.Pipe()
        process = context.Process(target=run_worker, args=(self.index, other), name=f"{WORKER_NAME}-{self.index}")
        with _interrupts_held_back(), _main_module_hidden(not self._imports_main):
            process.start()
            other.close()
            self._process, self._channel = process, Channel(own)

    def signal(self, value: Signal) -> None:
        """Send a signal; what goes wrong shows when the answer is awaited."""
        with suppress(ChannelClosedError):
            if self._channel is not None:
                self._channel.signal(value)

    def send(self, message: object, memory: SharedMemory | None = None) -> None:
        """Send a message, and the memory that it speaks of; what goes wrong shows when the answer is awaited."""
        with suppress(ChannelClosedError):
            if self._channel is not None and self._process is not None:
                self._channel.send(message)
                if memory is not None:
                    memory.send(self._channel.connection, self._process.pid or 0)

    def receive(self, deadline: float, limit: str) -> object:
        """The worker's answer.

        Args:
            deadline: Latest time, by `time.monotonic`.
            limit: What set this time, for the message.

        Raises:
            WorkerLostError: It died, or did not answer in time; it is killed then.
            UserError, EnvironmentFailedError: As raised in the worker.
        """
        if self._channel is None:
            raise self._loss()
        try:
            while not self._channel.wait(max(0.0, min(LIVENESS_SECONDS, deadline - time.monotonic()))):
                # A process that the environment started may keep the pipe open after the worker's death.
                if self._process is None or self._process.exitcode is not None:
                    raise ChannelClosedError
                if time.monotonic() >= deadline:
                    self.kill()
                    self._end = f"did not answer within {limit}"
                    raise self._loss()
            answer = self._channel.receive()
        except ChannelClosedError:
            self._bury()
            raise self._loss() from None
        if isinstance(answer, Failed):
            self._raise(answer)
        return answer

    def wait_for_end(self, deadline: float) -> None:
        """Wait until the process, which has been told to close, has ended; it is killed when it takes too long.

        Raises:
            EnvironmentFailedError: Closing an environment failed.
        """
        if self._process is None:
            return
        answer: object = None
        while not isinstance(answer, Closed):
            try:
                answer = self.receive(deadline, f"{CLOSE_SECONDS:g} s")
            except (AgentsError, RuntimeError) as failure:
                # The answer to a step that was given up, because of another failure, comes before the one to `Close`.
                logger.warning("%s, while it was being closed: %s", self, failure)
            except WorkerLostError as loss:
                logger.warning("%s while it was being closed", loss)
                return
        self._process.join(max(0.0, deadline - time.monotonic()))
        if answer.failure is not None:
            self._raise(answer.failure)

    def kill(self) -> None:
        """End the process, and what its environments started, at once."""
        process = self._process
        if process is None:
            return
        if sys.platform != "win32" and process.pid is not None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                process.kill()  # It had no time yet to head a group of its own.
        else:
            process.kill()
        process.join(REAP_SECONDS)
        self._forget()

    def _bury(self) -> None:
        """Find out how the process ended, and end what it has left."""
        process = self._process
        if process is None:
            return
        process.join(REAP_SECONDS)
        code = process.exitcode
        self.kill()
        if code is None:
            self._end = "closed its pipe"
        elif code < 0:
            self._end = f"was killed by {signal.Signals(-code).name}"
        else:
            self._end = f"ended with exit code {code}"

    def _loss(self) -> WorkerLostError:
        return WorkerLostError(f"{self} {self._end}")

    def _forget(self) -> None:
        if self._channel is not None:
            self._channel.close()
        self._channel = self._process = None

    def _raise(self, failed: Failed) -> None:
        cause = RemoteTracebackError(failed.traceback)
        if failed.exit_code == UserError.exit_code:
            raise UserError(failed.message) from cause
        if failed.exit_code == EnvironmentFailedError.exit_code:
            raise EnvironmentFailedError(failed.message) from cause
        raise RuntimeError(f"{self} failed: {failed.message}") from cause


def close_workers(workers: Sequence[WorkerProcess]) -> list[AgentsError]:
    """Let workers close their environments and end; kill those that do not within `CLOSE_SECONDS`.

    Returns:
        What went wrong while environments were closed.
    """
    failures: list[AgentsError] = []
    try:
        for worker in workers:
            worker.send(Close())
        deadline = time.monotonic() + CLOSE_SECONDS
        for worker in workers:
            try:
                worker.wait_for_end(deadline)
            except AgentsError as failure:
                failures.append(failure)
    finally:
        for worker in workers:
            worker.kill()
    return failures


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Let no Ctrl-C come between; it is delivered afterwards. Processes that are started meanwhile do not see it."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is None or threading.current_thread() is not threading.main_thread():
        with _interrupts_masked():
            yield
        return
    held: list[int] = []
    # A mask alone is not enough for us: the signal would reach the handler through another thread, as NumPy has.
    signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        with _interrupts_masked():
            yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if held:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def _interrupts_masked() -> Iterator[None]:
    """Block SIGINT in this thread, which processes started by it inherit."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # It would unblock the signal again.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _main_module_hidden(hidden: bool) -> Iterator[None]:
    """Keep a process that is started meanwhile from running the main script again.

    `multiprocessing` looks at `sys.modules["__main__"]` to find it. Without this, a script that trains without
    `if __name__ == "__main__":` would train again in each of its workers.
    """
    if not hidden:
        yield
        return
    with _main_lock:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


_main_lock = threading.Lock()
