"""Rows of demonstrations in random order, from a generator of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from agents_core.generators import generator_state, set_generator_state

Int64s = npt.NDArray[np.int64]


class DemonstrationSampler:
    """Gives rows to take from a demonstration's columns, or from a batch made of them.

    `sample` goes through all rows in random order before any comes again, so that a demonstration smaller than the
    minibatch works too.

    Args:
        lengths: int64[m], rows of each episode.
        seed: Nobody else draws from the generator made of it.
    """

    def __init__(self, lengths: Int64s, seed: np.random.SeedSequence) -> None:
        self._lengths = lengths
        self._starts = np.cumsum(lengths) - lengths
        self._rows = int(lengths.sum())
        self._generator = np.random.default_rng(seed)
        self._pass: Int64s = np.empty(0, np.int64)

    def __len__(self) -> int:
        return self._rows

    def sample(self, size: int) -> Int64s:
        """int64[size], the next rows of an endless series of shuffled passes."""
        while len(self._pass) < size:
            self._pass = np.concatenate([self._pass, self._generator.permutation(self._rows)])
        rows, self._pass = self._pass[:size], self._pass[size:]
        return rows

    def epoch(self, batch_size: int) -> Iterator[Int64s]:
        """All rows once in random order, in minibatches as near to `batch_size` as an even split comes."""
        count = max(1, round(self._rows / batch_size))
        yield from np.array_split(self._generator.permutation(self._rows), count)

    def sequences(self, count: int, length: int) -> tuple[Int64s, npt.NDArray[np.bool_]]:
        """Pieces of episodes that start at any of their rows, each row equally likely.

        Returns:
            Rows, int64[count, length], and whether they are valid, bool[count, length]: False behind the end of the
            episode, where its last row is repeated.
        """
        first = self._generator.integers(self._rows, size=count)
        episode = np.searchsorted(self._starts, first, side="right") - 1
        last = self._starts[episode] + self._lengths[episode] - 1
        rows = first[:, None] + np.arange(length)
        return np.minimum(rows, last[:, None]), rows <= last[:, None]

    def state_dict(self) -> dict[str, Any]:
        """Where the series stands."""
        return {"generator": generator_state(self._generator), "pass": self._pass}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        set_generator_state(self._generator, state["generator"])
        self._pass = np.asarray(state["pass"], np.int64)
