"""The parent's side of the memory that it shares with its workers: makes it as large as their steps need."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from agents_core.contracts.environment import EnvironmentSteps
from agents_core.environments.memory import SharedMemory
from agents_core.environments.messages import Attach
from agents_core.environments.step_memory import Layout, StepMemory
from agents_core.environments.tables import BehaviorLayout
from agents_core.environments.worker_process import WorkerLostError, WorkerProcess
from agents_core.spec import BehaviorSpec

GROWTH = 1.5
"""Factor on the rows of a worker whose steps no longer fit."""
ATTACH_SECONDS = 60.0


class PoolMemory:
    """A block of memory that is replaced by a larger one when steps do not fit.

    Attributes:
        steps: What lies in the block.
    """

    def __init__(self, workers: Sequence[WorkerProcess]) -> None:
        self._workers = workers
        self._past = np.zeros(4)
        self._allocate(())

    def attach(self, workers: Sequence[WorkerProcess]) -> None:
        """Show the block to workers.

        Raises:
            WorkerLostError: One died or hung.
        """
        for worker in workers:
            worker.send(Attach(self.steps.layout, len(self._workers)), self._block)
        deadline = time.monotonic() + ATTACH_SECONDS
        for worker in workers:
            worker.receive(deadline, f"{ATTACH_SECONDS:g} s")

    def make_room(self, steps: Sequence[EnvironmentSteps], specs: Mapping[str, BehaviorSpec]) -> None:
        """Replace the block by one that holds steps like these, and show it to the workers.

        Args:
            steps: Of each worker.
            specs: Of all behaviors.
        """
        self._allocate(_grown(self.steps.layout, steps, specs))
        for worker in self._workers:
            try:
                self.attach([worker])
            except WorkerLostError:
                continue  # The next step finds it lost and replaces it.

    def seconds(self) -> npt.NDArray[np.float64]:
        """Summed over workers, float64[4]: seconds in steps, number of steps, seconds in resets, number of resets."""
        total: npt.NDArray[np.float64] = self._past + self.steps.seconds.sum(axis=0)
        return total

    def keep_seconds(self, worker: WorkerProcess) -> None:
        """Keep what a worker that is lost has measured; the one that replaces it starts from 0."""
        self._past += self.steps.seconds[worker.index]
        self.steps.seconds[worker.index] = 0.0

    def _allocate(self, layout: Layout) -> None:
        workers = len(self._workers)
        self._block = SharedMemory.create(StepMemory.size(layout, workers))
        self.steps = StepMemory(layout, workers, self._block.buffer)


def _grown(layout: Layout, steps: Sequence[EnvironmentSteps], specs: Mapping[str, BehaviorSpec]) -> Layout:
    """The layout with rows for all of these steps; behaviors that it has keep their places."""
    old = {behavior.name: behavior for behavior in layout}
    nothing = (0,) * len(steps)
    behaviors = []
    for name in [*old, *(name for name in specs if name not in old)]:
        parts = [step.behaviors.get(name) for step in steps]
        decisions = [0 if part is None else len(part.decision) for part in parts]
        terminals = [0 if part is None else len(part.terminal) for part in parts]
        before = old.get(name)
        rows = _grow(nothing if before is None else before.decisions, decisions)
        ends = _grow(nothing if before is None else before.terminals, terminals)
        # All agents may end at once.
        behaviors.append(BehaviorLayout(name, specs[name], rows, tuple(map(max, rows, ends))))
    return tuple(behaviors)


def _grow(rows: Sequence[int], needed: Sequence[int]) -> tuple[int, ...]:
    """Each worker's rows: as they were if enough, as many as needed at first, with some to spare afterwards."""
    return tuple(
        old if count <= old else max(count, int(old * GROWTH)) for old, count in zip(rows, needed, strict=True)
    )
