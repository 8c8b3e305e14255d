"""Options of `.demo` files."""

from __future__ import annotations

from typing import Literal

from agents_core.options import ConfigModel
from pydantic import Field


class DemoConfig(ConfigModel):
    """How records become transitions."""

    pairing: Literal["auto", "ml-agents"] = Field(
        default="auto",
        description="Which action belongs to an observation: `auto`, the one that was chosen on it; `ml-agents`, the "
        "one of the same record, which in files of the Unity recorder is the one before.",
    )
