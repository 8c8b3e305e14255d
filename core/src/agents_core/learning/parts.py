"""Large batches in parts, so that what a network needs for them stays small."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from agents_core.columns import Batch
from agents_core.learning.gradient import even_slices, rows_at_once
from agents_core.spec import BehaviorSpec


@torch.no_grad()
def in_parts(function: Callable[[Batch], Tensor], batch: Batch, spec: BehaviorSpec) -> Tensor:
    """What a function of rows gives for each row of a batch, without gradient.

    Args:
        function: Gives a tensor [m, ...] for a batch of m rows.
        batch: Any number of rows; a rollout of images is too much for a network at once.
        spec: What is observed; it says how many rows go at a time.
    """
    slices = even_slices(len(batch), rows_at_once(spec))
    if len(slices) == 1:
        return function(batch)
    device = batch.observations[0].device
    parts = [function(batch.take(torch.arange(rows.start, rows.stop, device=device))) for rows in slices]
    return torch.cat(parts)
