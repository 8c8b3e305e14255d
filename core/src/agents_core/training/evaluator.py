"""Evaluation while training: the policies as they are now, in environments of their own."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from agents_core.config import Experiment
from agents_core.contracts.policy import Policy
from agents_core.contracts.worker_pool import WorkerPool
from agents_core.seeding import integer_seed, named_seed
from agents_core.training.build import environment_section, hosts_many, make_pool
from agents_core.training.evaluation import (
    EndlessEpisodesError,
    EvaluationResult,
    EvaluationStoppedError,
    evaluate,
)
from agents_core.training.stop import StopSignal

MAX_ENVIRONMENTS = 20
"""Environments that step side by side during an evaluation, at most."""

_log = logging.getLogger(__name__)


class Evaluator:
    """Evaluates policies on fixed starts; the environments are made at the first evaluation and kept.

    Args:
        training_pool: None = the experiment has no environment.
    """

    def __init__(self, experiment: Experiment, training_pool: WorkerPool | None, stop: StopSignal) -> None:
        self._experiment = experiment
        self._stop = stop
        self._pool: WorkerPool | None = None
        self.is_possible = training_pool is not None and training_pool.max_instances is None
        if training_pool is not None and not self.is_possible:
            _log.info("no second environment can be opened: `best` goes by the training return")

    def evaluate(self, policies: Mapping[str, Policy], episodes: int) -> dict[str, EvaluationResult]:
        """Deterministic evaluation over `episodes` episodes of each behavior, always from the same starts.

        Where a stop is requested, this gives nothing; where no episode ends, it warns too, and evaluates no more.
        """
        if self._pool is None:
            self._pool = evaluation_pool(self._experiment, episodes)
        seed = integer_seed(named_seed(self._experiment.seed, "evaluation"))
        try:
            return evaluate(policies, self._pool, episodes=episodes, seed=seed, is_stopped=lambda: self._stop.requested)
        except EvaluationStoppedError:
            return {}
        except EndlessEpisodesError as error:
            self.is_possible = False
            _log.warning("%s", error)
            return {}

    def close(self) -> None:
        """Close the environments."""
        if self._pool is not None:
            self._pool.close()


def evaluation_pool(experiment: Experiment, episodes: int) -> WorkerPool:
    """Environments for evaluating, with the experiment's own kind of workers.

    As many as divide the episodes evenly where one object hosts many; else one, or one for each worker process.
    """
    section = environment_section(experiment)
    wanted = MAX_ENVIRONMENTS if hosts_many(section) else section.num_envs
    num_envs = max(count for count in range(1, min(wanted, episodes) + 1) if episodes % count == 0)
    return make_pool(experiment, num_envs, section.workers)
