"""Options of REINFORCE."""

from agents_core.options import ConfigModel, PositiveSchedule
from agents_core.schedules import Schedule
from pydantic import Field


class ReinforceConfig(ConfigModel):
    """The simplest policy gradient."""

    buffer_size: int = Field(default=1024, ge=1, description="Rows that are collected for each update.")
    learning_rate: PositiveSchedule = Field(default=Schedule(5e-3), description="Step size of Adam.")
