"""How fast the replay buffer is, next to Stable-Baselines3's in the same run where it is installed.

    python benchmarks/buffer_speed.py                       # every task, three rounds
    python benchmarks/buffer_speed.py --task vectors-1 --rounds 5

Each measurement is a process of its own with one thread; the rounds of both libraries alternate, and ratios are medians
over the rounds. A buffer is filled to its capacity first, so that inserting drops the oldest transitions. Episodes end
after 1,000 steps. Of a sampled minibatch both sides' observations, next observations, actions, rewards and ends are
read. Ours is saved and loaded as checkpoints do it.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

BATCH = 256
EPISODE = 1000
PEER = "stable-baselines3"


@dataclass(frozen=True)
class Task:
    """What to keep and how it comes.

    Attributes:
        name: Of the task.
        shape: Of an observation.
        dtype: Of an observation.
        capacity: Transitions.
        agents: Transitions that are added at once.
        episodes: Episodes of all agents whose inserting is timed.
        samples: Minibatches that are timed.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    capacity: int
    agents: int
    episodes: int
    samples: int


TASKS = {
    task.name: task
    for task in (
        Task("vectors-1", (17,), "float32", 1_000_000, 1, 100, 3000),
        Task("vectors-8", (17,), "float32", 1_000_000, 8, 50, 3000),
        Task("images-1", (84, 84, 3), "uint8", 20_000, 1, 20, 100),
        Task("images-8", (84, 84, 3), "uint8", 20_000, 8, 4, 100),
    )
}

Result = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", action="append", choices=list(TASKS), help="only this one; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each library (default 3)")
    options = parser.parse_args()
    measures: dict[str, Callable[[Task], Result]] = {"agents": measure_agents}
    if importlib.util.find_spec("stable_baselines3") is not None:
        measures[PEER] = measure_peer
    for task in [TASKS[name] for name in options.task or TASKS]:
        rounds = [
            {name: _in_process(measure, task) for name, measure in measures.items()} for _ in range(options.rounds)
        ]
        _report(task, rounds)


def _in_process(measure: Callable[[Task], Result], task: Task) -> Result:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(measure, task).result()


def measure_agents(task: Task) -> Result:
    """Our buffer, through its contract."""
    import torch
    from agents_core.columns import Columns
    from agents_core.contracts.buffer import BufferContext
    from agents_core.replay.buffer import ReplayBuffer
    from agents_core.replay.config import ReplayConfig
    from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec

    torch.set_num_threads(1)
    kind: Any = "vector" if len(task.shape) == 1 else "image"
    spec = BehaviorSpec((ObservationSpec("seen", task.shape, task.dtype, kind),), ActionSpec(6))
    context = BufferContext("b", ReplayConfig(buffer_size=task.capacity), spec, torch.device("cpu"), 0, 10**6)
    buffer = ReplayBuffer(context)
    episode = np.arange(task.agents)
    agents = np.arange(task.agents)
    tables = [
        Columns(
            {
                "obs.0": step["obs"],
                "next_obs.0": step["next_obs"],
                "action.continuous": step["action"],
                "reward": step["reward"],
                "terminated": np.zeros(task.agents, np.bool_),
                "truncated": step["done"],
                "agent_id": agents,
                "episode_id": episode,
            }
        )
        for step in _episode(task)
    ]

    ordered = [tables[which] for which in _order(len(tables))]

    def add(episodes: int) -> None:
        add_one = buffer.add
        for _ in range(episodes):
            for table in ordered:
                add_one(table)
            np.add(episode, task.agents, out=episode)

    def sample() -> None:
        batch = buffer.sample(BATCH, generator)
        for name in ("obs.0", "next_obs.0", "action.continuous", "reward", "terminated"):
            batch[name]

    generator = np.random.default_rng(1)
    result = _time(task, add, sample)
    return {**result, **(_time_saving(buffer, ReplayBuffer(context), spec) if task.agents == 1 else {})}


def _time_saving(buffer: Any, empty: Any, spec: Any) -> Result:
    """Saving all of a buffer and loading it into another."""
    from agents_core.training.replay_store import ReplayStore

    with tempfile.TemporaryDirectory() as folder:
        store = ReplayStore(Path(folder) / "replay")
        start = time.perf_counter()
        saved = store.write("b", buffer)
        middle = time.perf_counter()
        store.load("b", saved, empty, spec)
        end = time.perf_counter()
        size = sum(segment.size for segment in saved.segments)
    return {"save": middle - start, "load": end - middle, "file": size / 2**20}


def measure_peer(task: Task) -> Result:
    """Stable-Baselines3's buffer."""
    import torch
    from gymnasium import spaces
    from stable_baselines3.common.buffers import ReplayBuffer

    torch.set_num_threads(1)
    highest = 255 if task.dtype == "uint8" else 1
    space: Any = spaces.Box(0, highest, task.shape, np.dtype(task.dtype).type)
    buffer = ReplayBuffer(task.capacity, space, spaces.Box(-1.0, 1.0, (6,), np.float32), "cpu", task.agents)
    steps = _episode(task)
    infos: list[dict[str, Any]] = [{} for _ in range(task.agents)]

    names = ("obs", "next_obs", "action", "reward", "done")
    ordered = [tuple(steps[which][name] for name in names) for which in _order(len(steps))]

    def add(episodes: int) -> None:
        add_one = buffer.add
        for _ in range(episodes):
            for seen, seen_next, action, reward, done in ordered:
                add_one(seen, seen_next, action, reward, done, infos)

    return _time(task, add, lambda: buffer.sample(BATCH))


def _order(prepared: int) -> list[int]:
    """Which of the prepared steps follow one another in an episode."""
    return [*(step % (prepared - 1) for step in range(EPISODE - 1)), prepared - 1]


def _episode(task: Task) -> Sequence[Mapping[str, Any]]:
    """Steps to add again and again; the last one ends the episode."""
    rng = np.random.default_rng(0)
    steps: list[Mapping[str, Any]] = []
    prepared = EPISODE if len(task.shape) == 1 else 20
    for i in range(prepared):
        seen = [
            (rng.random((task.agents, *task.shape)) * (255 if task.dtype == "uint8" else 1)).astype(task.dtype)
            for _ in range(2)
        ]
        steps.append(
            {
                "obs": seen[0],
                "next_obs": seen[1],
                "action": rng.random((task.agents, 6), np.float32),
                "reward": rng.random(task.agents, np.float32),
                "done": np.full(task.agents, i == prepared - 1),
            }
        )
    return steps


def _time(task: Task, add: Callable[[int], None], sample: Callable[[], object]) -> Result:
    add(task.capacity // (task.agents * EPISODE) + 1)
    start = time.perf_counter()
    add(task.episodes)
    inserting = time.perf_counter() - start
    for _ in range(10):
        sample()
    start = time.perf_counter()
    for _ in range(task.samples):
        sample()
    sampling = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return {
        "insert": task.episodes * EPISODE * task.agents / inserting,
        "sample": task.samples / sampling,
        "peak": peak,
    }


def _report(task: Task, rounds: Sequence[Mapping[str, Result]]) -> None:
    print(f"\n## {task.name}: {task.capacity:,} x {list(task.shape)} {task.dtype}, {task.agents} at once; ", end="")
    print(f"load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores\n")
    print(f"| library | inserted/s | sample({BATCH})/s | peak MiB |\n| --- | ---: | ---: | ---: |")
    for name in rounds[0]:
        values = {key: statistics.median(one[name][key] for one in rounds) for key in ("insert", "sample", "peak")}
        print(f"| {name} | {values['insert']:,.0f} | {values['sample']:,.0f} | {values['peak']:,.0f} |")
    if PEER in rounds[0]:
        print("\nMedian ratios:", end="")
        for key in ("insert", "sample"):
            ratios = [one["agents"][key] / one[PEER][key] for one in rounds]
            print(f" {key} {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f});", end="")
        print()
    saved = [one["agents"] for one in rounds if "save" in one["agents"]]
    if saved:
        save, load, size = (statistics.median(one[key] for one in saved) for key in ("save", "load", "file"))
        print(f"\nAll of it saved in {save:.1f} s and loaded in {load:.1f} s; {size:,.0f} MiB on disk", flush=True)


if __name__ == "__main__":
    main()
