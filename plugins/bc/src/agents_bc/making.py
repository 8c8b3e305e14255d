"""Chooses the trainer that an experiment's options mean."""

from __future__ import annotations

from agents_core.contracts.trainer import Trainer, TrainerContext

from agents_bc.config import BCConfig
from agents_bc.student import StudentTrainer
from agents_bc.trainer import BCTrainer


def make_trainer(context: TrainerContext[BCConfig]) -> Trainer:
    """A trainer that learns from demonstrations, or from a teacher."""
    return BCTrainer(context) if context.config.teacher is None else StudentTrainer(context)
