"""How many updates a second SAC makes, next to Stable-Baselines3 in the same run where it is installed.

    python benchmarks/sac_speed.py                       # one thread and two, five rounds of 400 updates
    python benchmarks/sac_speed.py --rounds 3 --threads 1

An update samples 256 of 100,000 transitions of the size of HalfCheetah-v5 (17 numbers seen, 6 done) and takes one step
of critics, policy and temperature, with two hidden layers of 256. Each measurement is a process of its own; the rounds
of both libraries alternate, and ratios are medians over the rounds. Stable-Baselines3 has fused Adam.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

SEEN, DONE, STORED, WARM_UP = 17, 6, 100_000, 50
PEER = "stable-baselines3"


@dataclass(frozen=True)
class Measurement:
    """What one process measured.

    Attributes:
        updates_per_second: By the wall clock.
        cpu_milliseconds: Of the process, for each update.
        peak_mib: Largest resident memory, the library and the transitions included.
    """

    updates_per_second: float
    cpu_milliseconds: float
    peak_mib: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="of torch (default 1 2)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each library (default 5)")
    parser.add_argument("--updates", type=int, default=400, help="updates of each measurement (default 400)")
    parser.add_argument("--measure", choices=["agents", PEER], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        print(json.dumps(asdict(_measure(options.measure, options.threads[0], options.updates))))
        return
    libraries = ["agents"] + [PEER] * (importlib.util.find_spec("stable_baselines3") is not None)
    print(f"load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores\n")
    print("| library | threads | updates/s | range | CPU ms/update | peak MiB |")
    print("| --- | ---: | ---: | --- | ---: | ---: |")
    for threads in options.threads:
        rounds = [[_run(library, threads, options.updates) for library in libraries] for _ in range(options.rounds)]
        columns = list(zip(*rounds, strict=True))
        for library, column in zip(libraries, columns, strict=True):
            _report(library, threads, column)
        if len(columns) == 2:
            ratios = [one.updates_per_second / other.updates_per_second for one, other in rounds]
            print(
                f"| ratio | {threads} | {statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} | | |"
            )


def _report(library: str, threads: int, column: tuple[Measurement, ...]) -> None:
    speeds = [one.updates_per_second for one in column]
    print(
        f"| {library} | {threads} | {statistics.median(speeds):.0f} | {min(speeds):.0f} to {max(speeds):.0f} "
        f"| {statistics.median(one.cpu_milliseconds for one in column):.2f} "
        f"| {statistics.median(one.peak_mib for one in column):.0f} |",
        flush=True,
    )


def _run(library: str, threads: int, updates: int) -> Measurement:
    command = [sys.executable, __file__, "--measure", library, "--threads", str(threads), "--updates", str(updates)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{library} failed:\n{done.stdout}\n{done.stderr}")
    return Measurement(**json.loads(done.stdout.splitlines()[-1]))


def _measure(library: str, threads: int, updates: int) -> Measurement:
    import torch

    torch.set_num_threads(threads)
    update = _agents() if library == "agents" else _peer()
    update(WARM_UP)
    wall, cpu = time.perf_counter(), time.process_time()
    update(updates)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measurement(updates / wall, cpu / updates * 1e3, peak)


def _transitions() -> dict[str, Floats]:
    random = np.random.default_rng(1)
    seen = random.standard_normal((STORED + 1, SEEN), np.float32)
    done = random.uniform(-1, 1, (STORED, DONE)).astype(np.float32)
    return {"seen": seen[:-1], "next": seen[1:], "done": done, "reward": random.standard_normal(STORED, np.float32)}


def _agents() -> Callable[[int], None]:
    from agents_core.columns import Columns
    from agents_core.options import NetworkConfig
    from agents_core.replay.buffer import ReplayBuffer
    from agents_core.replay.config import ReplayConfig
    from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
    from agents_core.testing.contexts import buffer_context, trainer_context
    from agents_sac.config import SACConfig
    from agents_sac.trainer import SACTrainer

    spec = BehaviorSpec((ObservationSpec("state", (SEEN,)),), ActionSpec(DONE))
    context = trainer_context(
        SACConfig(buffer_init_steps=0, steps_per_update=1),
        spec,
        network=NetworkConfig(hidden_units=256, activation="relu"),
        seed=1,
        make_buffer=lambda _: ReplayBuffer(buffer_context(ReplayConfig(buffer_size=STORED), spec)),
    )
    trainer = SACTrainer(context)
    made = _transitions()
    ended = np.zeros(STORED, np.bool_)
    numbers = np.arange(STORED)
    columns: dict[str, npt.NDArray[Any]] = {
        "obs.0": made["seen"],
        "next_obs.0": made["next"],
        "action.continuous": made["done"],
        "action.raw": made["done"],
        "action.discrete": np.empty((STORED, 0), np.int64),
        "reward": made["reward"],
        "terminated": ended,
        "truncated": ended,
        "agent_id": np.zeros_like(numbers),
        "episode_id": np.zeros_like(numbers),
        "tick": numbers,
    }
    assert trainer.buffer is not None
    trainer.buffer.add(Columns(columns))

    def update(count: int) -> None:
        # As in a run: each step is followed by its update.
        for _ in range(count):
            trainer.process(Columns({name: array[:1] for name, array in columns.items()}), STORED)
            trainer.update()

    return update


def _peer() -> Callable[[int], None]:
    import gymnasium
    from stable_baselines3 import SAC
    from stable_baselines3.common.logger import configure

    class Environment(gymnasium.Env[Floats, Floats]):
        """Only its spaces are used."""

        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (SEEN,), np.float32)
        action_space = gymnasium.spaces.Box(-1, 1, (DONE,), np.float32)

    policy = {"net_arch": [256, 256], "optimizer_kwargs": {"fused": True}}
    model = SAC("MlpPolicy", Environment(), buffer_size=STORED, policy_kwargs=policy, device="cpu", seed=1)
    model.set_logger(configure(format_strings=[]))
    made, buffer = _transitions(), model.replay_buffer
    buffer.observations[:, 0], buffer.next_observations[:, 0] = made["seen"], made["next"]
    buffer.actions[:, 0], buffer.rewards[:, 0] = made["done"], made["reward"]
    buffer.pos, buffer.full = 0, True

    def update(count: int) -> None:
        model.train(count, batch_size=256)

    return update


if __name__ == "__main__":
    main()
