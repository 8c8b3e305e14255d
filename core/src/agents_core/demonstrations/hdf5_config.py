"""Options of demonstrations in HDF5 files."""

from __future__ import annotations

from agents_core.options import ConfigModel


class Hdf5Config(ConfigModel):
    """There is nothing to choose."""
