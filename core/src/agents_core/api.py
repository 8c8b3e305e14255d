"""The Python door: train from an experiment, act with what was trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array
from agents_core.config import load_experiment
from agents_core.contracts.environment import Actions
from agents_core.contracts.policy import Policy
from agents_core.errors import UserError
from agents_core.registry import load_registry
from agents_core.spec import BehaviorSpec
from agents_core.training.policies import load_policies
from agents_core.training.run import train as _train
from agents_core.training.run_options import RunOptions, RunResult


def train(
    experiment: str | Path | Mapping[str, object],
    *,
    overrides: Sequence[str] = (),
    results: str | Path = "results",
    run_id: str | None = None,
    force: bool = False,
    resume: bool = False,
    quiet: bool = True,
) -> RunResult:
    """Train as `agents run` does.

    Args:
        experiment: Path of an experiment file, or its content.
        overrides: As `--set`: `a.b.c=VALUE`.
        results: Folder that the run directory is made in.
        run_id: Name of the run; by default trainer, environment and time.
        force: Replace the run `run_id` if there is one.
        resume: Continue the run `run_id` from its last checkpoint.
        quiet: Print nothing.

    Raises:
        AgentsError: As the command would report it.
    """
    registry = load_registry()
    source = experiment if isinstance(experiment, Mapping) else Path(experiment)
    loaded = load_experiment(source, registry, overrides=overrides)
    options = RunOptions(results=Path(results), run_id=run_id, force=force, resume=resume, quiet=quiet)
    return _train(loaded, registry, options)


class LoadedPolicy:
    """A trained policy that acts on single observations or on many at once."""

    def __init__(self, policy: Policy, step: int) -> None:
        self._policy = policy
        self.step = step
        """Training step of the checkpoint."""

    @property
    def spec(self) -> BehaviorSpec:
        return self._policy.spec

    def act(
        self,
        observations: Array | Sequence[Array] | Mapping[str, Array],
        memory: npt.NDArray[np.float32] | None = None,
        *,
        action_mask: npt.NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> Actions:
        """Actions for one or many agents.

        Args:
            observations: By name as in `spec.observations`, or in that order, or just the array where there is only
                one; each either [n, *shape], or [*shape] for a single agent. A discrete part is one-hot.
            memory: Of a policy with memory, the `memory` of the actions before, row for row; None where all agents
                start an episode, and rows of zeros for those that do.
            action_mask: bool[n, sum of branches] or bool[sum of branches], True = allowed.
            deterministic: Take the most likely action instead of a sample.

        Returns:
            `continuous` float32[n, size] in [-1, 1] (unscaled where the space is unbounded) and `discrete`
            int64[n, branches]; n is 1 for a single agent. A policy with memory adds `memory` float32[n, size].

        Raises:
            UserError: The number of observations or the shape of the memory is not that of the policy.
        """
        batched = self._batched(observations)
        mask = None if action_mask is None else np.asarray(action_mask, np.bool_).reshape(len(batched[0]), -1)
        if memory is not None and memory.shape != (len(batched[0]), self._policy.memory_size):
            raise UserError(
                f"the policy's memory has shape {(len(batched[0]), self._policy.memory_size)}, {memory.shape} given; "
                "pass the `memory` of the last actions, and nothing to a policy that has none"
            )
        return self._policy.act(batched, mask, memory=memory, deterministic=deterministic)

    def _batched(self, observations: Array | Sequence[Array] | Mapping[str, Array]) -> list[Array]:
        """One array [n, *shape] for each observation of the spec.

        Raises:
            UserError: They are not those that the policy was trained on.
        """
        specs = self.spec.observations
        wanted = ", ".join(f"{spec.name} {spec.dtype}{list(spec.shape)}" for spec in specs)
        try:
            if isinstance(observations, Mapping):
                given = [observations[spec.name] for spec in specs]
            else:
                given = [observations] if isinstance(observations, np.ndarray) else list(observations)
            return [
                np.asarray(array, spec.numpy_dtype).reshape(-1, *spec.shape)
                for array, spec in zip(given, specs, strict=True)
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"the policy sees these observations: {wanted}; what was given does not fit: {error}"
            ) from error


def load_policy(
    run: str | Path,
    *,
    behavior: str | None = None,
    checkpoint: str | int | None = None,
    results: str | Path = "results",
) -> LoadedPolicy:
    """A trained policy, ready to act.

    Args:
        run: A run directory, or a run id under `results`.
        behavior: Name of the behavior; may be left out where there is only one.
        checkpoint: `best`, `last` or a step; by default `best` if there is one, else `last`.
        results: Folder of runs.

    Raises:
        UserError: There is no such run, checkpoint or behavior.
    """
    loaded = load_policies(run, Path(results), load_registry(), checkpoint=checkpoint)
    if behavior is None and len(loaded.policies) > 1:
        raise UserError(f"{run} has several behaviors: {', '.join(sorted(loaded.policies))}; name one as `behavior`")
    name = behavior or next(iter(loaded.policies))
    if name not in loaded.policies:
        raise UserError(f"{run} has no behavior {name!r}; it has {', '.join(sorted(loaded.policies))}")
    return LoadedPolicy(loaded.policies[name], loaded.steps[name])
