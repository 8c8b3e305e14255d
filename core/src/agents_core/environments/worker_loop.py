"""The worker's side of the `process` pool: does what the parent says, one command after another."""

from __future__ import annotations

import pickle
import time
import traceback
from multiprocessing.connection import Connection

import numpy as np
import numpy.typing as npt

from agents_core.contracts.environment import EnvironmentSteps
from agents_core.environments.channel import DONE, STEP, Channel, ChannelClosedError, Signal
from agents_core.environments.group import EnvironmentGroup
from agents_core.environments.hosting import describe_exception
from agents_core.environments.memory import SharedMemory
from agents_core.environments.messages import (
    Attach,
    Close,
    Closed,
    Failed,
    Made,
    Make,
    Reset,
    StepsInMemory,
    StepsInMessage,
)
from agents_core.environments.step_memory import StepMemory
from agents_core.errors import AgentsError, UserError


class WorkerLoop:
    """Serves one parent.

    Args:
        index: Of this worker, from 0.
        connection: To the parent.
    """

    def __init__(self, index: int, connection: Connection) -> None:
        self._index = index
        self._channel = Channel(connection)
        self._group: EnvironmentGroup | None = None
        self._memory: StepMemory
        self._counts: dict[str, int] = {}
        self._own_seconds: npt.NDArray[np.float64]
        self._seconds = [0.0] * 4

    def run(self) -> None:
        """Serve until the parent says `Close` or is gone; the environments are closed either way."""
        command: object = None
        try:
            while not isinstance(command, Close):
                command = self._channel.receive()
                self._answer(command)
        except ChannelClosedError:
            self._close()

    def _answer(self, command: object) -> None:
        try:
            if isinstance(command, Signal):
                self._step(STEP.index(command))
            elif isinstance(command, Reset):
                self._reset(command)
            elif isinstance(command, Attach):
                self._attach(command)
            elif isinstance(command, Make):
                self._make(command)
            elif isinstance(command, Close):
                self._channel.send(Closed(self._close()))
        except ChannelClosedError:
            raise
        except Exception as error:
            self._channel.send(_failure(error))

    def _close(self) -> Failed | None:
        try:
            if self._group is not None:
                self._group.close()
        except AgentsError as error:
            return _failure(error)
        return None

    def _make(self, command: Make) -> None:
        try:
            make_environment = pickle.loads(command.make_environment)
        except (Exception, SystemExit) as error:
            raise UserError(
                f"a worker process cannot load the environment: {describe_exception(error)}; its code must be "
                "importable, or use environment.workers: {type: inline}"
            ) from error
        self._group = EnvironmentGroup(make_environment, command.places, command.total, command.num_envs)
        self._channel.send(Made(self._group.max_instances, self._group.hidden_state, self._group.behavior_specs))

    def _attach(self, command: Attach) -> None:
        size = StepMemory.size(command.layout, command.workers)
        block = SharedMemory.receive(self._channel.connection, size)
        self._memory = StepMemory(command.layout, command.workers, block.buffer)
        self._own_seconds = self._memory.seconds[self._index]
        self._own_seconds[:] = self._seconds
        self._channel.signal(DONE)

    def _reset(self, command: Reset) -> None:
        start = time.perf_counter()
        steps = self._ready_group().reset(command.seed, command.parameters, command.restart)
        self._reply(steps, command.half, time.perf_counter() - start, column=2)

    def _step(self, half: int) -> None:
        start = time.perf_counter()
        steps = self._ready_group().step(self._memory.read_actions(self._index, self._counts))
        self._reply(steps, half, time.perf_counter() - start, column=0)

    def _reply(self, steps: EnvironmentSteps, half: int, seconds: float, column: int) -> None:
        self._counts = {name: len(behavior.decision.agent_id) for name, behavior in steps.behaviors.items()}
        self._seconds[column] += seconds
        self._seconds[column + 1] += 1
        if not self._memory.fits(self._index, steps):
            self._channel.send(StepsInMessage(steps, self._ready_group().behavior_specs))
            return
        self._memory.write(half, self._index, steps)
        self._own_seconds[column] = self._seconds[column]
        self._own_seconds[column + 1] = self._seconds[column + 1]
        if steps.stats:
            self._channel.send(StepsInMemory(steps.stats))
        else:
            self._channel.signal(DONE)

    def _ready_group(self) -> EnvironmentGroup:
        if self._group is None:
            raise RuntimeError("a worker was asked to step before it made its environments")
        return self._group


def _failure(error: Exception) -> Failed:
    exit_code = error.exit_code if isinstance(error, AgentsError) else 1
    text = "".join(traceback.format_exception(error))
    return Failed(exit_code, str(error) if isinstance(error, AgentsError) else describe_exception(error), text)
