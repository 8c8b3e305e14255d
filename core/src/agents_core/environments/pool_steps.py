"""What all workers of a pool give, as one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agents_core.contracts.environment import Actions, BehaviorSteps, EnvironmentSteps, TerminalSteps
from agents_core.environments.channel import DONE
from agents_core.environments.checks import add_specs
from agents_core.environments.last_seen import LastSeen
from agents_core.environments.merging import Merger
from agents_core.environments.messages import StepsInMemory, StepsInMessage
from agents_core.environments.pool_memory import PoolMemory
from agents_core.environments.stacking import Int64s, nobody_decides, stack_terminals
from agents_core.environments.step_memory import Headers
from agents_core.environments.worker_process import WorkerProcess
from agents_core.spec import BehaviorSpec


@dataclass(frozen=True, slots=True)
class _Steady:
    """A merged step of which nothing but numbers in shared memory changes while its headers stay the same.

    Attributes:
        headers: Of the memory.
        parts: Each worker's steps.
        behaviors: Merged steps.
    """

    headers: Headers
    parts: list[EnvironmentSteps]
    behaviors: dict[str, BehaviorSteps]


class PoolSteps:
    """Splits actions over the workers, and merges the steps that they answer with.

    Attributes:
        specs: Of all behaviors seen so far.
    """

    def __init__(self, workers: Sequence[WorkerProcess], memory: PoolMemory) -> None:
        self.specs: dict[str, BehaviorSpec] = {}
        self._workers = workers
        self._memory = memory
        self._merger = Merger(range(len(workers)), 1)
        self._seen = [LastSeen() for _ in workers]
        self._all_done: list[object] = [DONE for _ in workers]
        self._before = [EnvironmentSteps({}) for _ in workers]
        self._agents: dict[str, Int64s] = {}
        self._steady: list[_Steady | None] = [None, None]

    def write_actions(self, actions: Mapping[str, Actions]) -> None:
        """Write each worker's part of the actions into its memory.

        Raises:
            ValueError: Actions are missing, or their number differs from the number of decisions.
        """
        for index, own in enumerate(self._merger.split(actions)):
            self._memory.steps.write_actions(index, own)

    def forget_agents(self) -> None:
        """Forget who is alive, as a reset does."""
        for index in range(len(self._workers)):
            self._forget_agents_of(index)

    def merge(self, half: int, answers: list[object], replaced: Collection[int]) -> EnvironmentSteps:
        """The workers' steps as one.

        Args:
            half: Where in the memory they were written.
            answers: Each worker's answer to a step or a reset.
            replaced: Workers that were lost and started again; their agents' episodes end here, cut off.
        """
        self._memory.steps.open(half)
        steady = self._steady[half]
        if steady is not None and answers == self._all_done and steady.headers == self._memory.steps.headers:
            self._before = steady.parts
            return EnvironmentSteps(
                {name: BehaviorSteps(part.decision, part.terminal) for name, part in steady.behaviors.items()}
            )
        parts = [self._steps_of(worker, answer) for worker, answer in zip(self._workers, answers, strict=True)]
        for index in replaced:
            _add_ends(parts[index], self._seen[index].cut(self._before[index]), self.specs)
            self._forget_agents_of(index)
        for seen, before, part in zip(self._seen, self._before, parts, strict=True):
            seen.update(before, part)
        is_crowded = any(isinstance(answer, StepsInMessage) for answer in answers)
        merged = self._merger.merge(parts, self.specs, None if is_crowded else self._memory.steps.whole)
        self._before = parts
        self._remember(half, merged, is_plain=answers == self._all_done and not replaced)
        if is_crowded:
            self._memory.make_room(parts, self.specs)
        return merged

    def _steps_of(self, worker: WorkerProcess, answer: object) -> EnvironmentSteps:
        if isinstance(answer, StepsInMessage):
            add_specs(self.specs, answer.specs, str(worker))
            return answer.steps
        steps = self._memory.steps.read(worker.index)
        if isinstance(answer, StepsInMemory):
            steps.stats = answer.stats
        return steps

    def _remember(self, half: int, merged: EnvironmentSteps, is_plain: bool) -> None:
        """Keep a step that the next ones in this half may repeat, and forget those that went with other agents."""
        agents = {name: behavior.decision.agent_id for name, behavior in merged.behaviors.items()}
        if agents.keys() != self._agents.keys() or any(agents[name] is not self._agents[name] for name in agents):
            self._agents = agents
            self._steady = [None, None]
        if is_plain and all(map(self._is_in_memory, merged.behaviors.items())) and not any(self._seen):
            self._steady[half] = _Steady(self._memory.steps.headers, self._before, merged.behaviors)

    def _is_in_memory(self, item: tuple[str, BehaviorSteps]) -> bool:
        """Whether a behavior's merged steps are views of memory, without ends."""
        name, behavior = item
        if len(behavior.terminal.agent_id):
            return False
        if len(self._workers) == 1:
            return True
        return behavior.decision is self._memory.steps.whole(name, behavior.decision.agent_id)

    def _forget_agents_of(self, index: int) -> None:
        self._seen[index].clear()
        self._before = [*self._before[:index], EnvironmentSteps({}), *self._before[index + 1 :]]


def _add_ends(steps: EnvironmentSteps, ends: Mapping[str, TerminalSteps], specs: Mapping[str, BehaviorSpec]) -> None:
    """Add the ends of a lost worker's episodes to the first steps of the worker that replaces it."""
    for name, terminal in ends.items():
        behavior = steps.behaviors.get(name)
        decision = nobody_decides(specs[name]) if behavior is None else behavior.decision
        both = [terminal] if behavior is None else [terminal, behavior.terminal]
        steps.behaviors[name] = BehaviorSteps(decision, stack_terminals([0] * len(both), both, 1))
