"""Options of Minari data sets."""

from __future__ import annotations

from agents_core.options import ConfigModel


class MinariConfig(ConfigModel):
    """There is nothing to choose."""
