"""Config model of the TensorBoard writer."""

from __future__ import annotations

from agents_core.options import ConfigModel


class TensorBoardConfig(ConfigModel):
    """The `stats.tensorboard` section; it has no keys."""
