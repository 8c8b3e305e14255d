"""However a program with workers ends, nothing of it is left behind, and nothing hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from agents_core.contracts.worker_pool import WorkerPoolContext
from agents_core.environments.config import ProcessConfig
from agents_core.environments.process import ProcessPool
from sample_environments import ChildMinder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")

POOL = """
import sys
import numpy as np
from agents_core.contracts.environment import Actions
from agents_core.contracts.worker_pool import WorkerPoolContext
from agents_core.environments.config import ProcessConfig
from agents_core.environments.process import ProcessPool
from agents_core.testing.toy_config import ToyConfig
from agents_core.testing.toy_factory import ToyMaker

def make_pool(make):
    return ProcessPool(WorkerPoolContext(ProcessConfig(count=2), 2, False, make))

ACTIONS = {"Simple1D": Actions(np.zeros((2, 0), np.float32), np.zeros((2, 1), np.int64))}
"""
IN_MAIN = """
class MadeHere:
    def __call__(self, first_env, num_envs):
        return ToyMaker(ToyConfig())(first_env, num_envs)
"""


def start(folder: Path, script: str) -> subprocess.Popen[str]:
    """Run a script in a session of its own, like a terminal's."""
    file = folder / "script.py"
    file.write_text(POOL + script)
    return subprocess.Popen(
        [sys.executable, str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait for something that must happen; the test's own time limit ends the waiting."""
    while not condition():
        time.sleep(0.02)


def is_gone(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def shared_files() -> set[str]:
    folder = Path("/dev/shm")
    return {file.name for file in folder.iterdir() if file.owner() == Path.home().owner()} if folder.is_dir() else set()


def ours(names: set[str]) -> set[str]:
    """Names of shared memory that Python's own modules or we might have made."""
    return {name for name in names if name.startswith(("psm_", "agents", "pym-", "sem.", "mp-"))}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("toy", ["simple1d", "hangs"])
def test_workers_end_and_memory_is_freed_when_the_parent_is_killed(tmp_path: Path, toy: str) -> None:
    before = shared_files()
    script = f"""
pool = make_pool(ToyMaker(ToyConfig(id="{toy}")))
pool.reset(0)
print("ready", flush=True)
while True:
    pool.step(ACTIONS)
"""
    with start(tmp_path, script) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        family = psutil.Process(parent.pid).children(recursive=True)
        assert len(family) >= 2
        time.sleep(0.2)
        parent.kill()
        parent.wait()
        wait_for(lambda: all(is_gone(process) for process in family))
    assert ours(shared_files() - before) == set()


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("last", "code"), [("", 0), ("raise KeyError('mistake')", 1), ("sys.exit(5)", 5)])
def test_a_program_that_forgets_to_close_ends_all_the_same(tmp_path: Path, last: str, code: int) -> None:
    # There is no `if __name__ == "__main__":` either: workers do not run the script.
    script = f"""
pool = make_pool(ToyMaker(ToyConfig()))
pool.reset(0)
pool.step(ACTIONS)
print("stepped")
{last}
"""
    with start(tmp_path, script) as program:
        output, errors = program.communicate()
    assert (program.returncode, output) == (code, "stepped\n")
    assert errors.strip().splitlines()[-1:] == (["KeyError: 'mistake'"] if code == 1 else [])


@pytest.mark.timeout(60)
def test_ctrl_c_reaches_the_parent_only(tmp_path: Path) -> None:
    script = """
pool = make_pool(ToyMaker(ToyConfig()))
pool.reset(0)
try:
    print("ready", flush=True)
    while True:
        pool.step(ACTIONS)
except KeyboardInterrupt:
    pool.close()
    print("closed")
"""
    with start(tmp_path, script) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        os.killpg(program.pid, signal.SIGINT)
        output, errors = program.communicate()
    assert (program.returncode, output, errors) == (0, "closed\n", "")


@pytest.mark.timeout(60)
def test_ctrl_c_while_workers_start_leaves_nothing(tmp_path: Path) -> None:
    script = """
try:
    print("ready", flush=True)
    pool = make_pool(ToyMaker(ToyConfig()))
    while True:
        pool.reset(0)
except KeyboardInterrupt:
    print("interrupted")
"""
    with start(tmp_path, script) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        wait_for(lambda: len(psutil.Process(program.pid).children(recursive=True)) >= 2)
        family = psutil.Process(program.pid).children(recursive=True)
        os.killpg(program.pid, signal.SIGINT)
        output, errors = program.communicate()
    assert (program.returncode, output, errors) == (0, "interrupted\n", "")
    wait_for(lambda: all(is_gone(process) for process in family))


@pytest.mark.timeout(60)
def test_an_environment_of_the_main_script_needs_a_guard_and_is_told_so(tmp_path: Path) -> None:
    use = """
    pool = make_pool(MadeHere())
    pool.reset(0)
    print(len(pool.step(ACTIONS).behaviors))
    pool.close()
"""
    with start(tmp_path, IN_MAIN + 'if __name__ == "__main__":' + use) as program:
        output, errors = program.communicate()
    assert (program.returncode, output, errors) == (0, "1\n", "")
    with start(tmp_path, IN_MAIN + "if True:" + use) as program:
        output, errors = program.communicate()
    assert (program.returncode, output) == (1, "")
    assert 'put what starts the training under `if __name__ == "__main__":`' in errors
    assert (
        "worker 0 (environment 0) ended with exit code 1 before its environments were made" in errors.splitlines()[-1]
    )


@pytest.mark.timeout(60)
def test_what_an_environment_started_ends_with_a_worker_that_has_to_be_killed() -> None:
    pool = ProcessPool(WorkerPoolContext(ProcessConfig(count=1), 1, False, ChildMinder))
    child = psutil.Process(int(pool.reset().stats["child"][0]))
    assert not is_gone(child)
    pool.close()
    wait_for(lambda: is_gone(child))
