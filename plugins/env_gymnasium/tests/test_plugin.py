"""What the core sees of the plugin before an environment is made."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

from agents_env_gymnasium import plugin
from agents_env_gymnasium.config import GymnasiumConfig


def test_listing_and_validating_imports_neither_gymnasium_nor_numpy() -> None:
    program = (
        "import sys, agents_env_gymnasium.plugin, agents_env_gymnasium.config as config\n"
        "config.GymnasiumConfig(id='CartPole-v1', wrappers=['ClipReward'])\n"
        "print([name for name in ('gymnasium', 'numpy', 'torch') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_entry_point_names_the_hooks_and_the_hooks_name_what_exists() -> None:
    (entry_point,) = [found for found in entry_points(group="agents.plugins") if found.name == "env-gymnasium"]
    assert entry_point.load() is plugin
    (spec,) = plugin.agents_environments()
    assert spec.name == "gymnasium"
    assert spec.hosts_many
    assert spec.id_field in GymnasiumConfig.model_fields
    for target in (spec.config, spec.factory):
        module, _, attribute = target.partition(":")
        assert callable(getattr(__import__(module, fromlist=[attribute]), attribute))
