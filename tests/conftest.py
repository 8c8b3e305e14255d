"""Makes the modules beside the tests and those of the site importable, and what tests of installed plugins share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "generator"))

from wheel_environment import ROOT, WheelEnvironment, build_wheels


@pytest.fixture(scope="session")
def wheel_environment(tmp_path_factory: pytest.TempPathFactory) -> WheelEnvironment:
    """An environment with the wheels of core, PPO and Gymnasium; plugins come and go."""
    folder = tmp_path_factory.mktemp("installed")
    wheels = build_wheels([ROOT / "core", ROOT / "plugins" / "ppo", ROOT / "plugins" / "env_gymnasium"], folder)
    environment = WheelEnvironment(folder)
    environment.install(*wheels)
    return environment
