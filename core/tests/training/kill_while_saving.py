"""Saves two behaviors in a loop, is killed with SIGKILL at random moments and looks at what is left each time.

Usage: kill_while_saving.py DIRECTORY KILLS. Prints the number of kills and of finished saves.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np
from agents_core.training.checkpoint import CheckpointStore
from agents_core.training.checkpoint_files import Snapshot

sys.path.insert(0, str(Path(__file__).parents[1]))
from killing import Report, kill_often


def store_in(directory: Path) -> CheckpointStore:
    return CheckpointStore(directory / "checkpoints", keep=2)


def save(store: CheckpointStore, moment: int) -> None:
    step = moment // 2 * 10  # Every second save replaces the one before at the same step.
    state = {"moment": moment}
    weights = {"weights": np.full(20_000, float(moment))}
    store.save({name: Snapshot(step, weights, weights, state) for name in "ab"}, state, best=["a"])


def save_for_ever(directory: Path, moment: int, report: Report) -> None:
    store = store_in(directory)
    store.load_last()
    while True:
        moment += 1
        save(store, moment)
        report(moment)


def last_moment(directory: Path) -> int:
    moments = set()
    for checkpoint in store_in(directory).load_last().values():
        moments.add(checkpoint.run["moment"])
        moments |= set(checkpoint.policy["weights"].tolist()) | set(checkpoint.trainer["weights"].tolist())
    assert len(moments) == 1, f"moments are mixed: {moments}"
    return int(moments.pop())


def main(directory: Path, kills: int) -> None:
    save(store_in(directory), 0)
    print(kills, kill_often(partial(save_for_ever, directory), partial(last_moment, directory), kills, 0.06))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
