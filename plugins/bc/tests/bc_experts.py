"""Experts in toys, and a trainer that learns from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from agents_bc.config import BCConfig
from agents_bc.trainer import BCTrainer
from agents_core.columns import Columns
from agents_core.contracts.demonstration import Demonstration
from agents_core.contracts.environment import Actions, DecisionSteps
from agents_core.demonstrations import store_demonstration
from agents_core.options import NetworkConfig
from agents_core.testing.column_environment import ActionKind, ColumnEnvironment
from agents_core.testing.contexts import trainer_context
from agents_core.testing.experts import chosen, demonstrate
from agents_core.testing.image_toys import VisualSimple1D
from agents_core.testing.memory_toys import RememberedCue
from agents_core.testing.toys import MaskedBranches, MaskedHybrid, Simple1D


def goal_expert(toy: ColumnEnvironment, kind: ActionKind, sides: Any) -> Actions:
    """Actions towards the sides -1 or 1, one for each agent."""
    return chosen(toy, discrete=sides > 0) if kind == "discrete" else chosen(toy, continuous=0.5 * np.asarray(sides))


def demonstrated(name: str, episodes: int = 30) -> tuple[ColumnEnvironment, Demonstration]:
    """A toy and what its expert does there: discrete, continuous, branches, hybrid, image or memory."""
    if name in ("discrete", "continuous"):
        toy: ColumnEnvironment = Simple1D(4, name)
        return toy, demonstrate(toy, lambda seen: goal_expert(toy, name, seen.observations[0]), episodes)
    if name == "branches":
        toy = MaskedBranches(4)
        return toy, demonstrate(toy, lambda seen: chosen(toy, discrete=_targets(seen, (3, 4))), episodes)
    if name == "hybrid":
        toy = MaskedHybrid(4)
        return toy, demonstrate(toy, lambda seen: _hybrid(toy, seen), episodes)
    if name == "image":
        toy = VisualSimple1D(4)
        return toy, demonstrate(toy, lambda seen: goal_expert(toy, "discrete", _brighter(seen)), episodes)
    toy = RememberedCue(4)
    cues = np.ones(4)

    def remember(seen: DecisionSteps) -> Actions:
        shown = seen.observations[0][:, 0]
        cues[shown != 0] = shown[shown != 0]
        return goal_expert(toy, "discrete", cues)

    return toy, demonstrate(toy, remember, episodes)


def _brighter(seen: DecisionSteps) -> np.ndarray:
    """-1 or 1: the brighter half of each image."""
    left, right = (half.sum(axis=(1, 2, 3), dtype=np.int64) for half in np.array_split(seen.observations[0], 2, axis=2))
    return np.where(right > left, 1, -1)


def _targets(seen: DecisionSteps, branches: tuple[int, ...]) -> np.ndarray:
    shown = seen.observations[0]
    parts = np.split(shown, np.cumsum(branches)[:-1], axis=1)
    return np.stack([part.argmax(axis=1) for part in parts], axis=1)


def _hybrid(toy: ColumnEnvironment, seen: DecisionSteps) -> Actions:
    return chosen(toy, discrete=seen.observations[0].argmax(axis=1), continuous=seen.observations[1])


def make_trainer(
    demonstration: Demonstration,
    network: NetworkConfig | None = None,
    *,
    seed: int = 0,
    max_steps: int = 100_000,
    **options: Any,
) -> BCTrainer:
    """A trainer of behavior `Test`."""
    context = trainer_context(
        BCConfig(demo_path="unused.h5", **options),
        demonstration.spec,
        network=network or NetworkConfig(hidden_units=32),
        signals={},
        seed=seed,
        max_steps=max_steps,
        demonstration=demonstration,
    )
    return BCTrainer(context)


def train(trainer: BCTrainer, steps: int) -> dict[str, float]:
    """Update until it has learned from so many rows or has nothing more to gain; statistics of the last update."""
    step, stats = 0, {}
    while step < steps and trainer.is_ready():
        trainer.process(Columns({}), step)
        stats = trainer.update()
        step += trainer.rows_learned
    return stats


def write(demonstration: Demonstration, folder: Path) -> Path:
    """The demonstration as a file."""
    path = folder / "expert.h5"
    store_demonstration(path, demonstration)
    return path
