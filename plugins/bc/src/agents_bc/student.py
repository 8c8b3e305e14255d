"""Imitating another behavior of the same environment while it acts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from agents_core.columns import Columns
from agents_core.contracts.trainer import TrainerContext
from agents_core.generators import generator_state, set_generator_state
from agents_core.learning.cloning import cloning_losses
from agents_core.learning.cloning_rows import ExpertRows, expert_rows
from agents_core.learning.finite import check_weights
from agents_core.learning.optimiser import FlatAdam
from agents_core.learning.rollout import mean_stats, minibatches
from agents_core.trajectory import Trajectories

from agents_bc.base import CloningTrainer
from agents_bc.config import BCConfig

FEWEST_ROWS = 256
"""What a teacher that hands out single transitions did is gathered up to this many."""


class StudentTrainer(CloningTrainer):
    """Clones what its teacher did since the last update, whatever trains the teacher."""

    def __init__(self, context: TrainerContext[BCConfig]) -> None:
        super().__init__(context)
        self.teacher = context.config.teacher
        self._optimiser = FlatAdam(self._network.flat)
        self._order = np.random.default_rng(context.seed.spawn(1)[0])
        self._seen: list[tuple[Columns, np.ndarray[Any, np.dtype[np.int64]]]] = []

    def process(self, experience: Trajectories | Columns, step: int) -> None:
        """Keep what the teacher did; a policy with memory takes each piece of an episode for a whole one."""
        self._step = step
        if isinstance(experience, Trajectories):
            columns, lengths = experience.columns, experience.lengths
        else:
            columns, lengths = experience, np.ones(len(experience), np.int64)
        learned = {name: array.copy() for name, array in columns.fields.items() if name.startswith(("obs.", "action"))}
        self._network.observe(columns.observations)
        self._seen.append((Columns(learned), lengths.copy()))

    def is_ready(self) -> bool:
        return sum(len(columns) for columns, _ in self._seen) >= FEWEST_ROWS

    def update(self) -> dict[str, float]:
        config, network = self._config, self._network
        rows = self._take_rows()
        learning_rate = config.learning_rate.value(self._step, self._context.max_steps)
        collected = []
        with self._context.timers.time("clone"):
            for _ in range(config.num_epoch):
                rows.refresh()
                units = rows.units_of(config.batch_size)
                for chosen in minibatches(len(rows.unit_lengths), units, self._order):
                    collected.append(cloning_losses(network, rows, chosen, self._place()))
                    self._optimiser.step(learning_rate, config.max_grad_norm)
        check_weights(network, network.flat.values, self._place())
        stats = {f"train/{name}": value for name, value in mean_stats(collected).items()}
        return stats | {"train/learning_rate": learning_rate}

    def _take_rows(self) -> ExpertRows:
        if not self._seen:
            raise RuntimeError("the teacher has done nothing yet")
        tables = [columns.fields for columns, _ in self._seen]
        # Masks may show up late; what came before them was free.
        names = [name for name in tables[-1] if all(name in table for table in tables)]
        columns = Columns({name: np.concatenate([table[name] for table in tables]) for name in names})
        lengths = np.concatenate([lengths for _, lengths in self._seen])
        self._seen.clear()
        return expert_rows(self._network, columns, lengths, self._config.loss)

    def state_dict(self) -> dict[str, Any]:
        return {
            "optimiser": self._optimiser.state_dict(),
            "order": generator_state(self._order),
            "actions": generator_state(self.policy.generator),
            "seen": [{"columns": dict(columns.fields), "lengths": lengths} for columns, lengths in self._seen],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._optimiser.load_state_dict(state["optimiser"])
        set_generator_state(self._order, state["order"])
        set_generator_state(self.policy.generator, state["actions"])
        self._seen = [(Columns(piece["columns"]), piece["lengths"]) for piece in state["seen"]]
