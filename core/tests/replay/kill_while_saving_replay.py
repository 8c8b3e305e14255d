"""Saves a buffer in a loop, is killed with SIGKILL at random moments and looks at what is left each time.

Usage: kill_while_saving_replay.py DIRECTORY KILLS. Prints the number of kills and of finished saves.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np
from agents_core.columns import Columns
from agents_core.training.checkpoint import CheckpointStore
from agents_core.training.checkpoint_files import Snapshot
from agents_core.training.replay_segment import check_segment

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from killing import Report, kill_often
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


def last_moment(directory: Path) -> int:
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


def save_for_ever(directory: Path, moment: int, report: Report) -> None:
    store, buffer = store_in(directory), make_buffer(SIZE, SMALL_SPEC)
    store.replay.load(NAME, store.load_last()[NAME].replay, buffer, SMALL_SPEC)
    while True:
        moment += 1
        buffer.add(transitions(moment))
        store.save({NAME: Snapshot(moment, {}, {}, {"moment": moment}, buffer)}, {})
        report(moment)


def main(directory: Path, kills: int) -> None:
    buffer = make_buffer(SIZE, SMALL_SPEC)
    buffer.add(transitions(0))
    store_in(directory).save({NAME: Snapshot(0, {}, {}, {"moment": 0}, buffer)}, {})
    print(kills, kill_often(partial(save_for_ever, directory), partial(last_moment, directory), kills, 0.08))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
