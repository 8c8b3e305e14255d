"""Demonstrations: loading, fitting to what a policy sees and does, sampling, recording."""

from __future__ import annotations

from agents_core.contracts.demonstration import (
    Demonstration,
    DemonstrationError,
    DemonstrationFormat,
    DemonstrationFormatContext,
    RecordSummary,
)
from agents_core.demonstrations.checks import check_demonstration
from agents_core.demonstrations.describing import describe_action, describe_observation, describe_spec, episode_returns
from agents_core.demonstrations.fitting import fitted
from agents_core.demonstrations.joining import joined
from agents_core.demonstrations.loading import (
    check_target,
    load_demonstrations,
    read_demonstrations,
    store_demonstration,
)
from agents_core.demonstrations.sampling import DemonstrationSampler
from agents_core.demonstrations.writing import written_aside

__all__ = [
    "Demonstration",
    "DemonstrationError",
    "DemonstrationFormat",
    "DemonstrationFormatContext",
    "DemonstrationSampler",
    "RecordSummary",
    "check_demonstration",
    "check_target",
    "describe_action",
    "describe_observation",
    "describe_spec",
    "episode_returns",
    "fitted",
    "joined",
    "load_demonstrations",
    "read_demonstrations",
    "store_demonstration",
    "written_aside",
]
