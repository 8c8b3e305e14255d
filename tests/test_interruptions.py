"""The command line when things go wrong: signals, kills, failing environments; and its exit codes."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

AGENTS = [sys.executable, "-m", "agents_core"]
EXPERIMENT = """
plugins: [agents_core.testing.plugin]
environment: {type: toy, id: simple1d, agents: 16}
behaviors:
  "*":
    max_steps: 100_000_000
    summary_freq: 2000
    network: {hidden_units: 16}
    trainer: {type: ppo, batch_size: 128, buffer_size: 512, num_epoch: 1}
checkpoints: {interval: 512}
evaluation: {interval: 0}
stats: {console: {}, jsonl: {}}
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.yaml"
    path.write_text(EXPERIMENT)
    return path


def start(experiment: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [*AGENTS, "run", str(experiment), "--run-id", "run", *arguments]
    return subprocess.Popen(command, cwd=experiment.parent, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*AGENTS, *arguments], cwd=folder, text=True, capture_output=True, timeout=120)


def wait_for_checkpoint(folder: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not list(folder.glob("results/run/checkpoints/*/last")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def last_step(folder: Path) -> int:
    (last,) = (folder / "results/run/checkpoints").glob("*/last")
    return int(last.read_text())


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_exits_with_130_within_seconds(experiment: Path, number: int) -> None:
    process = start(experiment, "--set", "checkpoints.interval=10_000_000")
    folder = experiment.parent
    deadline = time.monotonic() + 60
    while not (folder / "results/run/metrics.jsonl").exists() or not (folder / "results/run/metrics.jsonl").read_text():
        assert time.monotonic() < deadline, process.communicate()
        time.sleep(0.05)
    process.send_signal(number)
    output, errors = process.communicate(timeout=10)
    assert process.returncode == 130, errors
    assert "agents resume" in output
    assert "Traceback" not in errors
    assert json.loads((folder / "results/run/run.json").read_text())["status"] == "interrupted"
    step = last_step(folder)
    resumed = call(folder, "resume", "run", "--max-steps", str(step + 600))
    assert resumed.returncode == 0, resumed.stderr
    assert last_step(folder) >= step + 600


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_run_killed_at_any_moment_resumes_and_loses_at_most_one_interval(experiment: Path) -> None:
    folder, moments = experiment.parent, random.Random(1)
    process = start(experiment)
    wait_for_checkpoint(folder, process)
    for _ in range(5):
        time.sleep(moments.random())
        process.kill()
        process.communicate()
        before = last_step(folder)
        command = [*AGENTS, "resume", "run"]
        process = subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while last_step(folder) <= before:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    steps = [json.loads(line)["step"] for line in (folder / "results/run/metrics.jsonl").read_text().splitlines()]
    assert steps == sorted(set(steps))


@pytest.mark.parametrize(
    ("changes", "exit_code", "words"),
    [
        (["environment.id=raises", "environment.at_step=50"], 3, ["ValueError", "on purpose"]),
        (["environment.id=nan_reward", "environment.at_step=50"], 3, ["reward", "agent"]),
        (["behaviors.*.trainer.learning_rate=1e30"], 4, []),
        (["behaviors.*.reward_signals.extrinsic.strength=1e308"], 4, []),
        (["behaviors.*.trainer={type: sac, learning_rate: 1e30, buffer_init_steps: 40}"], 4, ["learning_rate"]),
        (["behaviors.*.trainer.batch_sise=3"], 2, ["batch_sise", "batch_size"]),
        (["behaviors.*.network.encoders={camera: {type: simple}}"], 2, ["camera"]),
    ],
)
def test_each_kind_of_failure_has_its_exit_code_and_one_message(
    experiment: Path, changes: list[str], exit_code: int, words: list[str]
) -> None:
    flags = [flag for change in changes for flag in ("--set", change)]
    done = call(experiment.parent, "run", str(experiment), *flags)
    assert done.returncode == exit_code, done.stderr
    assert "Traceback" not in done.stderr
    assert "RuntimeWarning" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert (experiment.parent / "results").exists() == (exit_code != 2)


def test_evaluate_reports_as_text_and_as_json(experiment: Path) -> None:
    folder = experiment.parent
    assert call(folder, "run", str(experiment), "--run-id", "run", "--max-steps", "3000", "--quiet").stdout == ""
    text = call(folder, "evaluate", "run", "--episodes", "16")
    assert "mean return" in text.stdout
    document = json.loads(call(folder, "evaluate", "run", "--episodes", "16", "--json").stdout)
    (behavior,) = document["behaviors"].values()
    assert behavior.keys() == {"episodes", "mean_return", "std_return", "mean_length"}
    assert behavior["episodes"] == 16
    unknown = call(folder, "evaluate", "rum")
    assert unknown.returncode == 2
    assert "run" in unknown.stderr
    inference = call(folder, "run", str(experiment), "--inference", "--init-from", "run", "--max-steps", "500")
    assert inference.returncode == 0, inference.stderr
    assert "Next:" in inference.stdout
    assert " resume " not in inference.stdout  # There is no checkpoint to resume from.


def test_nothing_of_a_run_stays_in_shared_memory_or_as_a_process(experiment: Path) -> None:
    if not Path("/dev/shm").is_dir():
        pytest.skip("no /dev/shm here")
    before = set(Path("/dev/shm").iterdir())
    process = start(experiment, "--set", "environment.workers={type: process, count: 2}", "--num-envs", "2")
    wait_for_checkpoint(experiment.parent, process)
    children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    assert children
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert set(Path("/dev/shm").iterdir()) <= before
