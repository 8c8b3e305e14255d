"""What a run was made with."""

from __future__ import annotations

import platform

import numpy as np
import torch

from agents_core import __version__
from agents_core.registry import Registry


def core_versions() -> dict[str, str]:
    """Versions of core, Python, NumPy and torch."""
    return {
        "agents-core": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__,
    }


def plugin_versions(registry: Registry) -> dict[str, str]:
    """Versions of the plugins, by distribution."""
    records = [record for record in registry.records if record.distribution and record.version]
    return {str(record.distribution): str(record.version) for record in records}
