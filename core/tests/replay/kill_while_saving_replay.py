"""Saves a buffer in a loop, is killed with SIGKILL at random moments and looks at what is left each time.

Usage: kill_while_saving_replay.py DIRECTORY KILLS. Prints the number of kills and of finished saves.
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
from agents_core.columns import Columns
from agents_core.training.checkpoint import CheckpointStore
from agents_core.training.checkpoint_files import Snapshot
from agents_core.training.replay_segment import check_segment

sys.path.insert(0, str(Path(__file__).parent))
from replay_model import SMALL_SPEC, make_buffer

SIZE = 3000
NEW = 1000
NAME = "walker"


def store_in(directory: Path) -> CheckpointStore:
    return CheckpointStore(directory / "checkpoints", keep=2)


def transitions(moment: int) -> Columns:
    """Transitions whose reward says at which moment they were saved."""
    seen = np.random.default_rng(moment).random((NEW + 1, 2), np.float32)
    return Columns(
        {
            "obs.0": seen[:-1],
            "next_obs.0": seen[1:],
            "action.continuous": np.zeros((NEW, 1), np.float32),
            "reward": np.full(NEW, moment, np.float32),
            "terminated": np.zeros(NEW, np.bool_),
            "truncated": np.zeros(NEW, np.bool_),
            "agent_id": np.zeros(NEW, np.int64),
            "episode_id": np.full(NEW, moment),
        }
    )


def check(directory: Path) -> int:
    """The moment of the save that is left, found whole."""
    store = store_in(directory)
    checkpoint = store.load_last()[NAME]
    moment = checkpoint.state["moment"]
    assert checkpoint.replay is not None
    for segment in checkpoint.replay.segments:
        check_segment(directory / "replay" / NAME / segment.name, segment, SMALL_SPEC)
    buffer = make_buffer(SIZE, SMALL_SPEC)
    store.replay.load(NAME, checkpoint.replay, buffer, SMALL_SPEC)
    batch = buffer.sample(500, np.random.default_rng(0))
    assert set(batch["reward"].tolist()) == set(range(max(0, moment - 2), moment + 1))
    return int(moment)


def save_for_ever(directory: Path, finished: int) -> None:
    store, buffer = store_in(directory), make_buffer(SIZE, SMALL_SPEC)
    checkpoint = store.load_last()[NAME]
    store.replay.load(NAME, checkpoint.replay, buffer, SMALL_SPEC)
    moment = checkpoint.state["moment"]
    while True:
        moment += 1
        buffer.add(transitions(moment))
        store.save({NAME: Snapshot(moment, {}, {}, {"moment": moment}, buffer)}, {})
        os.write(finished, moment.to_bytes(8, "big"))


def kill_one(directory: Path, moment: int, delay: float) -> int:
    """Start a saving process after `moment`, kill it, and return the last moment that it finished."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        save_for_ever(directory, writing)
    os.close(writing)
    select.select([reading], [], [], 20)  # It has saved once.
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while data := os.read(reading, 8):
        moment = int.from_bytes(data, "big")
    os.close(reading)
    return moment


def main(directory: Path, kills: int) -> None:
    delays = random.Random(7)
    buffer = make_buffer(SIZE, SMALL_SPEC)
    buffer.add(transitions(0))
    store_in(directory).save({NAME: Snapshot(0, {}, {}, {"moment": 0}, buffer)}, {})
    moment = check(directory)
    for _ in range(kills):
        finished = kill_one(directory, moment, delays.uniform(0, 0.08))
        moment = check(directory)
        assert finished <= moment <= finished + 1, f"{finished} was finished, {moment} is left"
    print(kills, moment)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
