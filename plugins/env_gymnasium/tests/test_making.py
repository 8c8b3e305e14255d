"""What goes wrong while environments are made is told in terms of the config."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from agents_core.errors import EnvironmentFailedError, UserError
from agents_env_gymnasium.serial import SerialEnvironment
from agents_env_gymnasium.vector import VectorEnvironment
from gymnasium_toys import HERE, act, open_config, parts


@pytest.mark.parametrize(
    ("identifier", "message"),
    [
        ("cartpole-v1", "no environment 'cartpole-v1' is registered; nearest: CartPole-v1"),
        ("CartPole-v7", "no environment 'CartPole-v7' is registered; nearest: CartPole-v"),
        ("ALE/Pong-v5", r"no environment 'ALE/Pong-v5' is registered.*imports: \[module\]"),
        ("no_such_module:Thing-v0", "there is no module 'no_such_module'"),
    ],
)
def test_an_unknown_id_gets_the_nearest_ones(identifier: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        open_config(id=identifier)


def test_a_missing_dependency_gets_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Box2D", None)
    monkeypatch.delitem(sys.modules, "gymnasium.envs.box2d.lunar_lander", raising=False)
    monkeypatch.delitem(sys.modules, "gymnasium.envs.box2d", raising=False)
    with pytest.raises(UserError, match=r"'LunarLander-v3' needs a package that is not there.*pip install"):
        open_config(id="LunarLander-v3")


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        ({"id": "CartPole-v1", "kwargs": {"gravty": 1}}, UserError, "environment.kwargs: 'CartPole-v1'.*gravty"),
        ({"id": "Acrobot-v1", "kwargs": {"gravty": 1}}, UserError, "environment.kwargs: 'Acrobot-v1'.*gravty"),
        ({"entry_point": "failing.py:raises"}, EnvironmentFailedError, "failed while it was made: RuntimeError: boom"),
        ({"entry_point": "failing.py:missing"}, UserError, "needs a package that is not there: .*no_such_package"),
        ({"entry_point": "failing.py:number"}, UserError, "cannot be called; it is a int"),
        ({"entry_point": "failing.py:nothing"}, UserError, "returned a NoneType, but a gymnasium.Env is needed"),
        ({"entry_point": "failing.py:vector"}, UserError, "set `environment.vectorization: own`"),
        (
            {"entry_point": "failing.py:one_more", "vectorization": "own"},
            UserError,
            "asked for 2 instances",
        ),
        ({"entry_point": "failing.py:nothing", "vectorization": "own"}, UserError, "set `vectorization: sync`"),
        (
            {"entry_point": "failing.py:silent", "vectorization": "own"},
            UserError,
            "say how it starts new episodes",
        ),
        ({"entry_point": "failing.py:differing"}, UserError, "differ in their spaces"),
        ({"id": "Pendulum-v1", "vectorization": "own"}, UserError, "has no vector entry point of its own"),
        ({"id": "CartPole-v1", "imports": ["failing.py:raises"]}, UserError, "raised RuntimeError: boom"),
        ({"id": "CartPole-v1", "imports": ["failing.py:number"]}, UserError, "is no function but a int"),
        ({"id": "CartPole-v1", "wrappers": ["ClipRewrd"]}, UserError, "no 'ClipRewrd'; nearest: ClipReward"),
        ({"id": "CartPole-v1", "wrappers": ["failing.py:number"]}, UserError, "cannot be called; it is a int"),
        (
            {"id": "CartPole-v1", "wrappers": [{"type": "ClipReward", "minimum": 0}]},
            UserError,
            r"ClipReward could not be put around the environment with arguments \{'minimum': 0\}",
        ),
    ],
)
def test_a_mistake_is_named_by_its_key(
    config: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    sys.modules.pop("failing", None)
    with pytest.raises(error, match=message):
        open_config(2, directory=tmp_path, **config)


FAILING = """
import gymnasium
from gymnasium_toys import Counting, counting_vector

number = 3
made = []

def raises():
    raise RuntimeError("boom")

def missing():
    import no_such_package

def nothing(num_envs=1):
    return None

def vector(num_envs=2):
    return counting_vector(num_envs, "NEXT_STEP")

def one_more(num_envs):
    return counting_vector(num_envs + 1, "NEXT_STEP")

def silent(num_envs):
    env = counting_vector(num_envs, "NEXT_STEP")
    env.metadata = {}
    return env

def differing():
    made.append(1)
    return Counting(action_space=gymnasium.spaces.Discrete(1 + len(made)))
"""


def test_imports_run_first_and_may_register_what_id_names(tmp_path: Path) -> None:
    (tmp_path / "registering.py").write_text(
        "import gymnasium\n"
        "def register():\n"
        "    gymnasium.register('Registered-v0', entry_point='gymnasium_toys:Counting', kwargs={'lengths': (2,)})\n"
    )
    try:
        environment = open_config(directory=tmp_path, id="Registered-v0", imports=["registering:register"])
    finally:
        gymnasium.registry.pop("Registered-v0", None)
    environment.reset()
    act(environment, discrete=[[0]])
    assert len(parts(act(environment, discrete=[[0]]))[1]) == 1


def test_an_id_may_name_the_module_that_registers_it(tmp_path: Path) -> None:
    (tmp_path / "registering_too.py").write_text(
        "import gymnasium\ngymnasium.register('Module-v0', entry_point='gymnasium_toys:Counting')\n"
    )
    try:
        environment = open_config(directory=tmp_path, id="registering_too:Module-v0")
    finally:
        gymnasium.registry.pop("Module-v0", None)
    assert len(parts(environment.reset())[0]) == 1


def test_kwargs_and_wrappers_reach_the_environment_from_the_inside_out() -> None:
    environment = open_config(
        id="Acrobot-v1",
        kwargs={"render_mode": "rgb_array"},
        wrappers=[{"type": "FrameStackObservation", "stack_size": 4}, "gymnasium.wrappers:FlattenObservation"],
    )
    (spec,) = environment.behavior_specs["default"].observations
    assert spec.shape == (24,)
    assert environment._envs[0].render_mode == "rgb_array"


def test_an_environments_own_vectorised_version_is_chosen_where_it_can_be() -> None:
    assert isinstance(open_config(16, id="CartPole-v1"), VectorEnvironment)
    assert isinstance(open_config(15, id="CartPole-v1"), SerialEnvironment)
    assert isinstance(open_config(1, id="CartPole-v1", vectorization="own"), VectorEnvironment)
    assert isinstance(open_config(16, id="CartPole-v1", vectorization="sync"), SerialEnvironment)
    assert isinstance(open_config(16, id="CartPole-v1", wrappers=["OrderEnforcing"]), SerialEnvironment)
    assert isinstance(open_config(16, id="Acrobot-v1"), SerialEnvironment)


@pytest.mark.parametrize("vectorization", ["sync", "own"])
def test_the_step_limit_of_the_config_wins_over_the_registered_one(vectorization: Any) -> None:
    environment = open_config(2, id="CartPole-v1", vectorization=vectorization, max_episode_steps=3)
    environment.reset(seed=0)
    for _ in range(2):
        assert len(parts(act(environment, discrete=[[0], [1]]))[1]) == 0
    _, terminal = parts(act(environment, discrete=[[0], [1]]))
    assert terminal.truncated.tolist() == [True, True]


def test_warnings_come_once_however_many_instances_there_are(tmp_path: Path) -> None:
    (tmp_path / "warning_env.py").write_text(
        "import gymnasium, gymnasium_toys\n"
        "def make():\n    gymnasium.logger.warn('look out')\n    return gymnasium_toys.Counting()\n"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        open_config(4, directory=tmp_path, entry_point="warning_env:make")
    assert len([warning for warning in caught if "look out" in str(warning.message)]) == 1


def test_mujoco_prints_and_writes_nothing_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    program = (
        "from pathlib import Path\n"
        "from gymnasium_toys import open_config\n"
        "open_config(3, id='HalfCheetah-v5').reset(seed=0)\n"
    )
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(HERE), "PATH": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (result.stdout, result.stderr) == ("", "")
    assert list(tmp_path.iterdir()) == []
