"""What makes an experiment's environments, here and in workers."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from agents_core.config import load_experiment
from agents_core.environments.factory import EnvironmentFactory
from agents_core.errors import UserError
from agents_core.registry import load_registry
from agents_core.testing.toys import Simple1D

PLUGIN = """
from agents_core.options import ConfigModel
from agents_core.plugin import EnvironmentSpec, TrainerSpec, hookimpl

OWN = dict(summary="For this test", config=f"{__name__}:Config", factory=f"{__name__}:make")


class Config(ConfigModel):
    pass


@hookimpl
def agents_environments():
    return [EnvironmentSpec(name="odd", **OWN)]


@hookimpl
def agents_trainers():
    return [TrainerSpec(name="idle", **OWN)]


def make(context):
    return "something else"
"""


def factory_of(environment: dict[str, object], folder: Path) -> EnvironmentFactory:
    plugin = folder / "odd_plugin.py"
    plugin.write_text(PLUGIN)
    source = {
        "plugins": [str(plugin), "agents_core.testing.plugin"],
        "environment": environment,
        "behaviors": {"*": {"trainer": {"type": "idle"}}},
    }
    experiment = load_experiment(source, load_registry())
    assert experiment.environment is not None
    return EnvironmentFactory(experiment.environment, experiment.directory)


def test_it_makes_the_experiments_environment_after_a_trip_through_pickle(tmp_path: Path) -> None:
    factory = factory_of({"type": "toy", "id": "simple1d", "agents": 5}, tmp_path)
    toy = pickle.loads(pickle.dumps(factory))(first_env=2, num_envs=1)
    assert isinstance(toy, Simple1D)
    assert toy.agents == 5


def test_what_is_no_environment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"environment 'odd' of .*: its factory returned a str, not an agents_core"):
        factory_of({"type": "odd"}, tmp_path)(0, 1)


def test_workers_need_no_torch() -> None:
    modules = "agents_core.environments.factory, agents_core.environments.worker_loop"
    script = f"import sys, {modules}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
