"""What worker processes make an experiment's environments with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agents_core.config import EnvironmentSection
from agents_core.contracts.environment import Environment, EnvironmentContext
from agents_core.errors import UserError


@dataclass(frozen=True, slots=True)
class EnvironmentFactory:
    """Makes environments of an experiment; travels to worker processes by pickle.

    It stands in a module that does not import torch, so that workers need not either. The plugin's factory is named,
    not held: a worker imports it itself.

    Attributes:
        section: The experiment's `environment`.
        directory: Folder that relative paths start from.
    """

    section: EnvironmentSection
    directory: Path

    def __call__(self, first_env: int, num_envs: int) -> Environment:
        factory = self.section.component.load_factory()
        environment = factory(EnvironmentContext(self.section.config, num_envs, first_env, self.directory))
        if not isinstance(environment, Environment):
            raise UserError(
                f"environment '{self.section.type}' of {self.section.component.distribution}: its factory returned a "
                f"{type(environment).__name__}, not an agents_core.contracts.environment.Environment"
            )
        return environment
