"""The conformance class of environments."""

from __future__ import annotations

from agents_core.testing.conformance.environments.manners import MannerChecks
from agents_core.testing.conformance.environments.starts import StartChecks
from agents_core.testing.conformance.environments.steps import StepChecks


class EnvironmentConformance(MannerChecks, StartChecks, StepChecks):
    """Subclass it in a test, and name the environment: `component = "gymnasium"`, `config = {"id": "CartPole-v1"}`.

    Each check takes `steps` steps with random actions; give a number that some episodes end in.
    """
