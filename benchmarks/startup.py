"""What starting costs: CPU and wall seconds of the commands people type most, and the time to a run's first step.

    python benchmarks/startup.py [--rounds 5]

The commands are run one after the other, round after round; the table shows medians. Needs a POSIX system.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

AGENTS = [str(Path(sys.executable).with_name("agents"))]
CONFIG = Path(__file__).resolve().parent.parent / "configs" / "cartpole.yaml"
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "agents --version": [*AGENTS, "--version"],
    "agents --help": [*AGENTS, "--help"],
    "agents plugins list": [*AGENTS, "plugins", "list"],
    "agents config validate": [*AGENTS, "config", "validate", str(CONFIG)],
    "import torch": [sys.executable, "-c", "import torch"],
}
# Reads until the run says that it is about to take its first step, which is what the observer hook is for.
FIRST_STEP = """
import sys, time
from pathlib import Path
from agents_core.plugin import hookimpl

@hookimpl
def agents_run_started(run_directory, config):
    Path("first_step").write_text(str(time.time()))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each command (default 5)")
    rounds = parser.parse_args().rounds
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    first_steps = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, command in COMMANDS.items():
                measured[name].append(_run(command, Path(folder)))
            first_steps.append(_time_to_first_step(Path(folder)))
    print(f"Medians of {rounds} rounds; load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores\n")
    print("| command | CPU seconds | wall seconds |\n| --- | ---: | ---: |")
    for name, pairs in measured.items():
        cpu, wall = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(f"| `{name}` | {cpu:.2f} | {wall:.2f} |")
    print(f"| `agents run`, until its first step | | {statistics.median(first_steps):.2f} |")


def _run(command: list[str], folder: Path) -> tuple[float, float]:
    """CPU and wall seconds of a command that must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def _time_to_first_step(folder: Path) -> float:
    """Seconds from typing `agents run` until its environments are about to step."""
    (folder / "observer.py").write_text(FIRST_STEP)
    experiment = folder / "experiment.yaml"
    experiment.write_text(CONFIG.read_text() + "\nplugins: [observer.py]\n")
    options = ["--max-steps", "1", "--run-id", "startup", "--force", "--quiet"]
    start = time.time()
    subprocess.run([*AGENTS, "run", str(experiment), *options], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return float((folder / "first_step").read_text()) - start


if __name__ == "__main__":
    main()
