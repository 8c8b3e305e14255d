"""Behavioral cloning: a policy is brought to what experts executed, by supervised learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from agents_core.columns import Columns
from agents_core.contracts.demonstration import Demonstration
from agents_core.contracts.trainer import TrainerContext
from agents_core.generators import generator_state, set_generator_state
from agents_core.learning.cloning import Cloner, validate
from agents_core.learning.cloning_rows import expert_rows
from agents_core.trajectory import Trajectories

from agents_bc.base import CloningTrainer
from agents_bc.config import BCConfig
from agents_bc.episodes import hold_out
from agents_bc.patience import Patience

MOST_ROWS = 65_536
"""Transitions of an update, at most; else each is one pass over the demonstration."""


class BCTrainer(CloningTrainer):
    """Learns from a demonstration alone; an update is a pass over it, followed by a validation."""

    def __init__(self, context: TrainerContext[BCConfig]) -> None:
        super().__init__(context)
        order, split = context.seed.spawn(2)
        self._patience = Patience(context.config.patience)
        self._cloner: Cloner | None = None
        if context.demonstration is not None:
            self._prepare(context.demonstration, np.random.default_rng(split), order)

    def _prepare(self, demonstration: Demonstration, split: np.random.Generator, order: np.random.SeedSequence) -> None:
        config, network = self._config, self._network
        learned, held = hold_out(demonstration.episodes, config.validation_split, split)
        network.observe(learned.columns.observations)
        rows = expert_rows(network, learned.columns, learned.lengths, config.loss)
        self._cloner = Cloner(network, rows, config.batch_size, order)
        self._rows_of_pass = min(len(rows), MOST_ROWS)
        self._held = expert_rows(network, held.columns, held.lengths, config.loss) if len(held.lengths) else None

    def process(self, experience: Trajectories | Columns, step: int) -> None:
        """Take note of the step; there is no experience."""
        if len(experience):
            raise TypeError("behavioral cloning learns from its demonstration only, experience was given")
        self._step = step

    def is_ready(self) -> bool:
        """Whether validations have not given up yet."""
        return self._cloner is not None and not self._patience.is_over

    def update(self) -> dict[str, float]:
        if self._cloner is None:
            raise RuntimeError("there is no demonstration to learn from")
        config, context = self._config, self._context
        learning_rate = config.learning_rate.value(self._step, context.max_steps)
        rows = min(self._rows_of_pass, max(1, context.max_steps - self._step))
        with context.timers.time("clone"):
            stats, self.rows_learned = self._cloner.train(rows, learning_rate, self._place(), config.max_grad_norm)
        stats = {f"train/{name}": value for name, value in stats.items()} | {"train/learning_rate": learning_rate}
        return stats | self._validate()

    def _validate(self) -> dict[str, float]:
        if self._held is None:
            return {}
        with self._context.timers.time("validate"):
            stats = validate(self._held, self._context.spec)
        self.score = -stats["nll"]
        values = self._network.flat.values
        self._patience.note(self.score, values)
        if self._patience.is_over:
            values.copy_(self._patience.best_weights)
            self.score = self._patience.best_score
        return {f"validation/{name}": value for name, value in stats.items()}

    def state_dict(self) -> dict[str, Any]:
        return {
            "cloner": None if self._cloner is None else self._cloner.state_dict(),
            "patience": self._patience.state_dict(),
            "score": self.score,
            "actions": generator_state(self.policy.generator),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if self._cloner is not None:
            self._cloner.load_state_dict(state["cloner"])
        self._patience.load_state_dict(state["patience"])
        self.score = state["score"]
        set_generator_state(self.policy.generator, state["actions"])
