"""Saves two behaviors in a loop, is killed with SIGKILL at random moments and looks at what is left each time.

Usage: kill_while_saving.py DIRECTORY KILLS. Prints the number of kills and of finished saves.
"""

from __future__ import annotations

import os
import random
import select
import signal
import sys
import time
from pathlib import Path

import numpy as np
from agents_core.training.checkpoint import CheckpointStore
from agents_core.training.checkpoint_files import Snapshot


def store_in(directory: Path) -> CheckpointStore:
    return CheckpointStore(directory / "checkpoints", keep=2)


def save(store: CheckpointStore, moment: int) -> None:
    step = moment // 2 * 10  # Every second save replaces the one before at the same step.
    state = {"moment": moment}
    weights = {"weights": np.full(20_000, float(moment))}
    store.save({name: Snapshot(step, weights, weights, state) for name in "ab"}, state, best=["a"])


def save_for_ever(directory: Path, moment: int, finished: int) -> None:
    store = store_in(directory)
    store.load_last()
    while True:
        moment += 1
        save(store, moment)
        os.write(finished, moment.to_bytes(8, "big"))


def last_moment(directory: Path) -> int:
    moments = set()
    for checkpoint in store_in(directory).load_last().values():
        moments.add(checkpoint.run["moment"])
        moments |= set(checkpoint.policy["weights"].tolist()) | set(checkpoint.trainer["weights"].tolist())
    assert len(moments) == 1, f"moments are mixed: {moments}"
    return int(moments.pop())


def kill_one(directory: Path, moment: int, delay: float) -> int:
    """Start a saving process after `moment`, kill it, and return the last moment that it finished."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        save_for_ever(directory, moment, writing)
    os.close(writing)
    select.select([reading], [], [], 10)  # It has saved once.
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while data := os.read(reading, 8):
        moment = int.from_bytes(data, "big")
    os.close(reading)
    return moment


def main(directory: Path, kills: int) -> None:
    delays = random.Random(7)
    moment = 0
    save(store_in(directory), moment)
    for _ in range(kills):
        finished = kill_one(directory, moment, delays.uniform(0, 0.06))
        moment = last_moment(directory)
        assert finished <= moment <= finished + 1, f"{finished} was finished, {moment} is left"
    print(kills, moment)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
