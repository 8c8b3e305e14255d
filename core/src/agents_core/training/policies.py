"""Policies of finished or running runs: loading and evaluating them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agents_core.config import Experiment, load_experiment
from agents_core.contracts.demonstration import Demonstration
from agents_core.contracts.policy import Policy
from agents_core.errors import UserError
from agents_core.registry import Registry
from agents_core.seeding import integer_seed, named_seed
from agents_core.timers import Timers
from agents_core.training.build import make_trainer, set_threads
from agents_core.training.checkpoint import CheckpointStore
from agents_core.training.evaluation import EvaluationResult, evaluate
from agents_core.training.evaluator import evaluation_pool
from agents_core.training.learner import spec_from_tree
from agents_core.training.run_directory import RunDirectory
from agents_core.training.state_tree import check_same_arrays


@dataclass(frozen=True, slots=True)
class LoadedPolicies:
    """The policies of a run's checkpoint.

    Attributes:
        experiment: What the run trains.
        policies: By behavior.
        steps: Training step of each behavior's checkpoint.
    """

    experiment: Experiment
    policies: Mapping[str, Policy]
    steps: Mapping[str, int]


def load_policies(
    run: str | Path, results: Path, registry: Registry, *, checkpoint: str | int | None = None
) -> LoadedPolicies:
    """Load the policies of a run without opening its environment.

    Args:
        run: A run directory, or a run id under `results`.
        results: Folder of runs.
        registry: Where trainers are found.
        checkpoint: `best`, `last` or a step; None = `best` if there is one, else `last`.

    Raises:
        UserError: There is no such run or checkpoint.
    """
    directory = RunDirectory.open(run, results)
    experiment = load_experiment(directory.config_path, registry)
    store = CheckpointStore(directory.checkpoints_path)
    behaviors = store.behaviors()
    if not behaviors:
        raise UserError(f"{directory.path}: this run has no checkpoint yet")
    policies, steps = {}, {}
    for name in behaviors:
        loaded = store.load_policy(name, checkpoint)
        spec = spec_from_tree(loaded.state["spec"])
        trainer = make_trainer(experiment, name, experiment.behavior(name), spec, Timers(), registry, acts_only=True)
        check_same_arrays(loaded.policy, trainer.policy_state(), loaded.path)
        trainer.load_policy_state(loaded.policy)
        policies[name], steps[name] = trainer.policy, loaded.step
    return LoadedPolicies(experiment, policies, steps)


def evaluate_run(
    run: str | Path,
    results: Path,
    registry: Registry,
    *,
    episodes: int,
    deterministic: bool = True,
    checkpoint: str | int | None = None,
    record: bool = False,
) -> tuple[LoadedPolicies, dict[str, EvaluationResult]]:
    """Evaluate a run's policies from fixed starts.

    Args:
        run, results, registry, checkpoint: As for `load_policies`.
        episodes: Episodes of each behavior.
        deterministic: Take the most likely actions instead of samples.
        record: Keep the episodes, as demonstrations.
    """
    loaded = load_policies(run, results, registry, checkpoint=checkpoint)
    set_threads(loaded.experiment, [policy.spec for policy in loaded.policies.values()])
    pool = evaluation_pool(loaded.experiment, episodes)
    try:
        seed = integer_seed(named_seed(loaded.experiment.seed, "final evaluation"))
        return loaded, evaluate(
            loaded.policies, pool, episodes=episodes, seed=seed, deterministic=deterministic, record=record
        )
    finally:
        pool.close()


def record_run(
    run: str | Path,
    results: Path,
    registry: Registry,
    *,
    episodes: int,
    behavior: str | None = None,
    deterministic: bool = True,
    checkpoint: str | int | None = None,
) -> tuple[Demonstration, float]:
    """Record the episodes that `evaluate_run` measures.

    Args:
        behavior: Whose; may be left out where there is only one.
        run, results, registry, episodes, deterministic, checkpoint: As for `evaluate_run`.

    Returns:
        The episodes, and their mean return.

    Raises:
        UserError: There is no such run, checkpoint or behavior, or none of its agents showed up.
    """
    names = CheckpointStore(RunDirectory.open(run, results).checkpoints_path).behaviors()
    if behavior is None and len(names) > 1:
        raise UserError(f"{run} has several behaviors: {', '.join(sorted(names))}; say which by --behavior NAME")
    if behavior is not None and behavior not in names:
        raise UserError(f"{run} has no behavior {behavior!r}; it has {', '.join(sorted(names)) or 'none yet'}")
    _, evaluated = evaluate_run(
        run,
        results,
        registry,
        episodes=episodes,
        deterministic=deterministic,
        checkpoint=checkpoint,
        record=True,
    )
    result = evaluated.get(behavior or names[0])
    if result is None or result.demonstration is None:
        raise UserError(f"{run}: no agent of {behavior or names[0]!r} showed up; nothing was recorded")
    return result.demonstration, result.mean_return
