"""What the plugin offers, and that offering it costs nothing."""

from __future__ import annotations

import importlib
import subprocess
import sys

from agents_core.contracts.stats import StatsWriter
from agents_core.options import ConfigModel
from agents_stats_tensorboard.plugin import agents_stats_writers


def test_the_writer_is_on_by_default_and_its_parts_exist() -> None:
    (spec,) = agents_stats_writers()
    assert (spec.name, spec.default) == ("tensorboard", True)
    loaded = []
    for target in (spec.config, spec.factory):
        module, _, attribute = target.partition(":")
        loaded.append(getattr(importlib.import_module(module), attribute))
    assert issubclass(loaded[0], ConfigModel)
    assert issubclass(loaded[1], StatsWriter)


def test_the_hooks_and_the_config_import_nothing_heavy() -> None:
    program = (
        "import sys, agents_stats_tensorboard.plugin, agents_stats_tensorboard.config\n"
        "heavy = {'tensorboard', 'torch', 'numpy', 'google.protobuf'} & sys.modules.keys()\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
