"""Rollouts on the training device, and their minibatches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agents_core.columns import Array, Batch
from agents_core.trajectory import Trajectories


def rollout_batch(trajectories: Trajectories, device: torch.device) -> Batch:
    """The rows of trajectories as a batch; a field goes to the device when it is first read.

    `next_obs.<i>` are there too, built if anybody reads them. On the CPU, fields share memory with the trajectories.
    """
    following: list[tuple[Array, ...]] = []

    def next_observation(index: int) -> Tensor:
        if not following:
            following.append(trajectories.next_observations())
        return torch.as_tensor(following[0][index], device=device)

    fields: dict[str, Tensor | Callable[[], Tensor]] = {
        name: partial(torch.as_tensor, array, device=device) for name, array in trajectories.columns.fields.items()
    }
    for index in range(len(trajectories.final_observations)):
        fields[f"next_obs.{index}"] = partial(next_observation, index)
    return Batch(fields, len(trajectories))


def extend_batch(batch: Batch, fields: Mapping[str, Array], device: torch.device) -> Batch:
    """The batch with further fields, which go to the device as float32; what was read before is not read again."""
    extended: dict[str, Tensor | Callable[[], Tensor]] = {name: partial(batch.__getitem__, name) for name in batch}
    for name, array in fields.items():
        extended[name] = torch.as_tensor(array, dtype=torch.float32, device=device)
    return Batch(extended, len(batch))


def minibatches(rows: int, batch_size: int, generator: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    """All rows once, in random order, in minibatches as near to `batch_size` as an even split comes.

    No row is left out, no minibatch is much smaller than the others, and the few rows by which a rollout exceeds a
    multiple of `batch_size` cost no further minibatch.
    """
    count = max(1, round(rows / batch_size))
    yield from np.array_split(generator.permutation(rows), count)


def mean_stats(collected: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean of each statistic over those that have it."""
    columns: dict[str, list[float]] = {}
    for stats in collected:
        for name, value in stats.items():
            columns.setdefault(name, []).append(value)
    return {name: sum(values) / len(values) for name, values in columns.items()}
