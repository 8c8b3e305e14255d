"""The steps and actions of all workers and behaviors in a block of shared memory."""

from __future__ import annotations

import mmap
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from agents_core.contracts.environment import Actions, DecisionSteps, EnvironmentSteps
from agents_core.environments.stacking import Int64s
from agents_core.environments.tables import DECISION_FLAGS, ArrayAllocator, BehaviorLayout, BehaviorTables

Layout = tuple[BehaviorLayout, ...]
Headers = list[list[list[int]]]
"""Of each worker and behavior: decision rows, terminal rows, flags, version of the agent set."""
NOBODY = np.empty(0, np.int64)


class StepMemory:
    """What parent and workers make of one block and one layout, each for itself.

    Attributes:
        layout: The behaviors' rows.
        seconds: float64[workers, 4]: seconds in steps, number of steps, seconds in resets, number of resets.
        headers: As they were when `open` was called.
    """

    def __init__(self, layout: Layout, workers: int, buffer: mmap.mmap | None) -> None:
        arrays = ArrayAllocator(buffer)
        self.layout = layout
        self.seconds: npt.NDArray[np.float64] = arrays.take((workers, 4), "float64")
        self._header: Int64s = arrays.take((workers, len(layout), 4), "int64")
        self._tables = {behavior.name: BehaviorTables(behavior, arrays) for behavior in layout}
        self._places = {behavior.name: place for place, behavior in enumerate(layout)}
        self._size = arrays.offset
        self._written: dict[str, Int64s] = {}
        self._written_headers: dict[str, tuple[int, int, int]] = {}
        self._agents: dict[tuple[int, str], tuple[int, Int64s]] = {}
        self.headers: Headers = []
        self._half = 0

    @classmethod
    def size(cls, layout: Layout, workers: int) -> int:
        """Bytes that a block must have."""
        return cls(layout, workers, None)._size

    def fits(self, worker: int, steps: EnvironmentSteps) -> bool:
        """Whether the worker's rows can hold the steps."""
        return all(
            name in self._tables and self._tables[name].fits(worker, behavior)
            for name, behavior in steps.behaviors.items()
        )

    def write(self, half: int, worker: int, steps: EnvironmentSteps) -> None:
        """Write a worker's steps, which must fit, without the environment's own statistics; in the worker."""
        for place, (name, tables) in enumerate(self._tables.items()):
            behavior = steps.behaviors.get(name)
            header = (0, 0, 0)
            if behavior is not None:
                agent_id = behavior.decision.agent_id
                if agent_id is not self._written.get(name):
                    self._written[name] = agent_id
                    tables.write_agents(worker, agent_id)
                    self._header[worker, place, 3] += 1
                flags = tables.write(half, worker, behavior)
                header = (len(agent_id), len(behavior.terminal.agent_id), flags)
            if header != self._written_headers.get(name):
                self._written_headers[name] = header
                self._header[worker, place, :3] = header

    def open(self, half: int) -> None:
        """Turn to what the workers have just written; in the parent, before `read` and `whole`."""
        self._half = half
        self.headers = self._header.tolist()

    def read(self, worker: int) -> EnvironmentSteps:
        """Views of the worker's steps."""
        steps = EnvironmentSteps({})
        for (decisions, terminals, flags, version), (name, tables) in zip(
            self.headers[worker], self._tables.items(), strict=True
        ):
            if not decisions and not terminals:
                continue
            known = self._agents.get((worker, name))
            if known is None or known[0] != version:
                known = self._agents[worker, name] = (version, tables.read_agents(worker, decisions))
            agent_id = known[1] if decisions else NOBODY
            steps.behaviors[name] = tables.read(self._half, worker, decisions, terminals, flags, agent_id)
        return steps

    def whole(self, name: str, agent_id: Int64s) -> DecisionSteps | None:
        """Views of all workers' decision steps at once; None where they do not fill their rows or differ in fields."""
        tables = self._tables[name]
        place, rows = self._places[name], tables.layout.decisions
        flags = self.headers[0][place][2] & DECISION_FLAGS
        for headers, count in zip(self.headers, rows, strict=True):
            decisions, _, own_flags, _ = headers[place]
            if decisions != count or own_flags & DECISION_FLAGS != flags:
                return None
        return tables.whole(self._half, flags, agent_id)

    def write_actions(self, worker: int, actions: Mapping[str, Actions]) -> None:
        """Write what the agents of a worker's last decision steps do; in the parent."""
        for name, own in actions.items():
            self._tables[name].write_actions(worker, own)

    def read_actions(self, worker: int, counts: Mapping[str, int]) -> dict[str, Actions]:
        """Views of what the agents do; in the worker.

        Args:
            worker: Which one.
            counts: Decision rows of each behavior in the worker's last steps.
        """
        return {name: self._tables[name].read_actions(worker, count) for name, count in counts.items() if count}
