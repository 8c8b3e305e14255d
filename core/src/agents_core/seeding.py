"""One seed a run, named children for everything that draws random numbers."""

from __future__ import annotations

from zlib import crc32

import numpy as np


def named_seed(seed: int, *names: str | int) -> np.random.SeedSequence:
    """The child of a run's seed under a path of names; children of other names or seeds share nothing with it."""
    return np.random.SeedSequence(seed, spawn_key=tuple(crc32(str(name).encode()) for name in names))


def integer_seed(sequence: np.random.SeedSequence) -> int:
    """A seed for things that take a plain non-negative integer, below 2^31."""
    return int(sequence.generate_state(1)[0] >> 1)
