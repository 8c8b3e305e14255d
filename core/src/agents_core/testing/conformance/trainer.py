"""The conformance class of trainers."""

from __future__ import annotations

from agents_core.testing.conformance.trainers.experience import ExperienceChecks
from agents_core.testing.conformance.trainers.learning import LearningChecks
from agents_core.testing.conformance.trainers.signals import SignalUseChecks
from agents_core.testing.conformance.trainers.states import StateChecks


class TrainerConformance(LearningChecks, StateChecks, SignalUseChecks, ExperienceChecks):
    """Subclass it in a test, and name the trainer: `component = "ppo"`.

    Give `config` what makes an update small, and `probe_config` what learns the probes within `probe_steps`. A trainer
    that samples from a buffer finds `buffer: {capacity: …}` in `config`, as it stands in experiment files.
    """
