"""One measurement in a process of its own: `python -m speed.measure ORDER`, where ORDER is JSON; prints a JSON line."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from speed.tasks import Measurement, Task

Library = Literal["agents", "stable-baselines3"]


@dataclass(frozen=True)
class Order:
    """What to measure.

    Attributes:
        threads: Threads of torch.
        workers: Worker processes for environments; 0 = none.
    """

    library: Library
    task: Task
    steps: int
    seed: int
    threads: int
    workers: int


def measure(order: Order) -> Measurement:
    """Have a fresh interpreter carry out the order, in an empty folder."""
    text = json.dumps(dataclasses.asdict(order))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _PROGRAM, str(Path(__file__).resolve().parent.parent), text]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{order.library} on {order.task.name} failed:\n{done.stdout}\n{done.stderr}")
    return Measurement(**json.loads(done.stdout.splitlines()[-1]))


_PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
if __name__ == "__main__":
    from speed.measure import carry_out
    carry_out(sys.argv[2])
"""


def carry_out(text: str) -> None:
    """Measure in this process and print the result as the last line of standard output."""
    fields = json.loads(text)
    order = Order(**{**fields, "task": Task(**fields["task"])})
    if order.library == "agents":
        from speed.agents import measure as measure_library
    else:
        from speed.sb3 import measure as measure_library
    result = measure_library(order.task, order.steps, order.seed, order.threads, order.workers)
    print("\n" + json.dumps(dataclasses.asdict(result)))
