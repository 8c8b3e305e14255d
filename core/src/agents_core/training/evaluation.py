"""Measuring policies over whole episodes, the same number from each agent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from agents_core.contracts.demonstration import Demonstration
from agents_core.contracts.environment import Actions, EnvironmentSteps
from agents_core.contracts.policy import Policy
from agents_core.contracts.worker_pool import WorkerPool
from agents_core.demonstrations.recording import EpisodeRecorder
from agents_core.errors import AgentsError, UserError
from agents_core.seeding import named_seed
from agents_core.training.measurement import Float64s, Int64s, Measurement

MAX_EPISODE_STEPS = 100_000
"""Environment steps without the end of an episode after which an evaluation gives up."""

_log = logging.getLogger(__name__)


class EvaluationStoppedError(AgentsError):
    """The evaluation was given up because the run is to stop."""


class EndlessEpisodesError(UserError):
    """The environment's episodes do not end, so that they cannot be measured."""


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationResult:
    """What a behavior reached.

    Attributes:
        returns: float64[episodes], sum of the raw environment reward, group rewards included, of each episode, in the
            order in which the episodes began.
        lengths: int64[episodes], decisions of each.
        demonstration: The episodes themselves, if they were to be recorded.
    """

    returns: Float64s
    lengths: Int64s
    demonstration: Demonstration | None = None

    @property
    def episodes(self) -> int:
        return len(self.returns)

    @property
    def mean_return(self) -> float:
        return float(self.returns.mean())

    @property
    def std_return(self) -> float:
        """Standard deviation over the episodes (of the population: divided by their number)."""
        return float(self.returns.std())

    @property
    def mean_length(self) -> float:
        return float(self.lengths.mean())


def evaluate(
    policies: Mapping[str, Policy],
    pool: WorkerPool,
    *,
    episodes: int,
    seed: int,
    deterministic: bool = True,
    record: bool = False,
    max_episode_steps: int = MAX_EPISODE_STEPS,
    is_stopped: Callable[[], bool] = lambda: False,
) -> dict[str, EvaluationResult]:
    """Let policies act from fixed starts until enough episodes of every behavior are over.

    Every agent that is there at the start contributes its first episodes, the same number each, so that short episodes
    count no more than long ones: with n agents, `episodes` is rounded up to a multiple of n. Where agents vanish,
    appear later or come back under other ids, episodes count in the order in which they begin, up to the same number.

    Nothing of the training changes: policies draw from generators made of `seed`.

    Args:
        policies: By behavior.
        pool: Environments; they are reset, and stay open.
        episodes: Episodes of each behavior, at least 1.
        seed: Decides the starts and, unless `deterministic`, the samples.
        deterministic: Take the most likely actions instead of samples.
        record: Keep the episodes that count, as demonstrations.
        max_episode_steps: Environment steps without the end of an episode that counts, after which to give up.
        is_stopped: Asked at every step whether to give up.

    Returns:
        Results of the behaviors that showed up before all others were through; a warning names the rest.

    Raises:
        UserError: An agent of a behavior without policy needs an action.
        EndlessEpisodesError: No episode ended in `max_episode_steps`.
        EvaluationStoppedError: `is_stopped` said so.
    """
    if episodes < 1:
        raise ValueError(f"an evaluation needs at least one episode, {episodes} asked for")
    recorders = {name: EpisodeRecorder(policy.spec) for name, policy in policies.items() if record}
    measured = {
        name: Measurement(episodes, policy.memory_size, recorders.get(name)) for name, policy in policies.items()
    }
    generators = {name: np.random.default_rng(named_seed(seed, "evaluation", name)) for name in policies}
    steps = pool.reset(seed)
    last_end = ticks = 0
    while True:
        ended = sum(measured[name].receive(part) for name, part in steps.behaviors.items() if name in measured)
        if ended:
            last_end = ticks
        if _are_complete(measured):
            break
        if is_stopped():
            raise EvaluationStoppedError("the evaluation was stopped")
        if ticks - last_end >= max_episode_steps:
            raise _endless(measured, max_episode_steps)
        steps = pool.step(_act(policies, measured, steps, generators, deterministic))
        ticks += 1
    return _results(measured, recorders)


def _act(
    policies: Mapping[str, Policy],
    measured: Mapping[str, Measurement],
    steps: EnvironmentSteps,
    generators: Mapping[str, np.random.Generator],
    deterministic: bool,
) -> dict[str, Actions]:
    actions = {}
    for name, part in steps.behaviors.items():
        if len(decision := part.decision):
            if name not in policies:
                raise UserError(
                    f"evaluation: behavior {name!r} needs actions, but there is no policy for it; "
                    f"there are policies for: {', '.join(sorted(policies)) or 'none'}"
                )
            actions[name] = policies[name].act(
                decision.observations,
                decision.action_mask,
                memory=measured[name].memory,
                deterministic=deterministic,
                generator=generators[name],
            )
            measured[name].remember(decision, actions[name])
    return actions


def _results(
    measured: Mapping[str, Measurement], recorders: Mapping[str, EpisodeRecorder]
) -> dict[str, EvaluationResult]:
    """What came of the behaviors that showed up; a warning names the others."""
    missing = [name for name, measurement in measured.items() if not measurement.is_begun]
    if missing:
        _log.warning("evaluation: no agent of %s showed up", ", ".join(missing))
    return {
        name: EvaluationResult(
            measurement.returns,
            measurement.lengths,
            recorders[name].demonstration(name) if name in recorders else None,
        )
        for name, measurement in measured.items()
        if measurement.is_begun
    }


def _are_complete(measured: Mapping[str, Measurement]) -> bool:
    begun = [measurement for measurement in measured.values() if measurement.is_begun]
    return bool(begun) and all(measurement.is_complete for measurement in begun)


def _endless(measured: Mapping[str, Measurement], max_episode_steps: int) -> EndlessEpisodesError:
    progress = ", ".join(
        f"{name}: {measurement.ended} of {measurement.wanted} episodes" if measurement.is_begun else f"{name}: no agent"
        for name, measurement in measured.items()
    )
    return EndlessEpisodesError(
        f"evaluation: no episode ended in {max_episode_steps} steps ({progress}); give the environment a time limit, "
        "or turn evaluation while training off with `evaluation: {interval: 0}`"
    )
