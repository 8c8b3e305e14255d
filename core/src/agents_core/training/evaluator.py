"""Evaluation while training: the policies as they are now, in environments of their own."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from agents_core.config import Experiment
from agents_core.contracts.policy import Policy
from agents_core.contracts.worker_pool import WorkerPool
from agents_core.registry import Registry
from agents_core.seeding import integer_seed, named_seed
from agents_core.training.build import environment_section, hosts_many, inline_workers, make_pool
from agents_core.training.evaluation import EndlessEpisodesError, EvaluationResult, evaluate

MAX_ENVIRONMENTS = 20
"""Environments that step side by side during an evaluation, at most."""

_log = logging.getLogger(__name__)


class Evaluator:
    """Evaluates policies on fixed starts; the environments are made at the first evaluation and kept."""

    def __init__(self, experiment: Experiment, registry: Registry, training_pool: WorkerPool) -> None:
        self._experiment = experiment
        self._registry = registry
        self._pool: WorkerPool | None = None
        self.is_possible = experiment.environment is not None and training_pool.max_instances is None
        if not self.is_possible:
            _log.info("no second environment can be opened: `best` goes by the training return")

    def evaluate(self, policies: Mapping[str, Policy], episodes: int) -> dict[str, EvaluationResult]:
        """Deterministic evaluation over `episodes` episodes of each behavior, always from the same starts.

        Where no episode ends, this warns, gives nothing, and no further evaluation is possible.
        """
        if self._pool is None:
            self._pool = evaluation_pool(self._experiment, self._registry, episodes)
        seed = integer_seed(named_seed(self._experiment.seed, "evaluation"))
        try:
            return evaluate(policies, self._pool, episodes=episodes, seed=seed)
        except EndlessEpisodesError as error:
            self.is_possible = False
            _log.warning("%s", error)
            return {}

    def close(self) -> None:
        """Close the environments."""
        if self._pool is not None:
            self._pool.close()


def evaluation_pool(experiment: Experiment, registry: Registry, episodes: int) -> WorkerPool:
    """Environments for evaluating, in this process: as many as divide the episodes evenly, if one object hosts many."""
    wanted = MAX_ENVIRONMENTS if hosts_many(environment_section(experiment)) else 1
    num_envs = max(count for count in range(1, wanted + 1) if episodes % count == 0)
    return make_pool(experiment, num_envs, inline_workers(registry))
