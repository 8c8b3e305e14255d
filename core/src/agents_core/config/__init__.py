"""Experiment files: read with positions, checked by the models of core and of the plugins that they name."""

from agents_core.config.errors import ConfigError, Mistake
from agents_core.config.experiment import BehaviorSection, EnvironmentSection, Experiment, Section
from agents_core.config.loading import load_experiment
from agents_core.config.models import CheckpointConfig, EvaluationConfig, TorchConfig

__all__ = [
    "BehaviorSection",
    "CheckpointConfig",
    "ConfigError",
    "EnvironmentSection",
    "EvaluationConfig",
    "Experiment",
    "Mistake",
    "Section",
    "TorchConfig",
    "load_experiment",
]
