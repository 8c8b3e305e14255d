"""How long a large `.demo` file takes to load, and how much memory: 200,000 decisions of two continuous actions.

    python benchmarks/demo_loading.py [--width 8] [--steps 200000]

The file is written first, then loaded in a process of its own that has loaded a small one before. Memory is the peak
above what that process had, in multiples of the arrays that come out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

EPISODE = 200
LOAD = """
import json, resource, sys, time
import psutil
from agents_core.demonstrations import load_demonstrations
load_demonstrations(sys.argv[1])
before = psutil.Process().memory_info().rss
began = time.perf_counter()
episodes = load_demonstrations(sys.argv[2]).episodes
seconds = time.perf_counter() - began
arrays = [*episodes.columns.fields.values(), *episodes.final_observations]
unit = 1 if sys.platform == "darwin" else 1024
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit - before
print(json.dumps([len(episodes), seconds, sum(array.nbytes for array in arrays), peak]))
"""


def write(path: Path, width: int, episodes: int) -> None:
    """A file of random numbers."""
    from agents_core.demonstrations import store_demonstration
    from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
    from agents_core.testing.demonstrations import random_demonstration

    spec = BehaviorSpec((ObservationSpec("x", (width,)),), ActionSpec(2))
    store_demonstration(path, random_demonstration(spec, [EPISODE] * episodes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=8, help="numbers that an agent sees")
    parser.add_argument("--steps", type=int, default=200_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small.demo"), Path(folder, "large.demo")
        write(small, arguments.width, 1)
        write(large, arguments.width, arguments.steps // EPISODE)
        command = [sys.executable, "-c", LOAD, str(small), str(large)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows, seconds, size, peak = json.loads(done.stdout)
        print(
            f"{rows} transitions of {arguments.width} numbers, {large.stat().st_size / 1e6:.1f} MB on disk: "
            f"{seconds:.2f} s, arrays of {size / 1e6:.1f} MB, peak {peak / size:.2f} times that"
        )


if __name__ == "__main__":
    main()
