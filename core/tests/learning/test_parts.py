"""Large batches go through a network in parts."""

from __future__ import annotations

import pytest
import torch
from agents_core.columns import Batch
from agents_core.learning.parts import in_parts
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec


@pytest.mark.parametrize(("side", "rows"), [(2, 100), (200, 1000), (200, 0)])
def test_parts_add_up_to_the_whole_and_are_small_where_observations_are_large(side: int, rows: int) -> None:
    spec = BehaviorSpec((ObservationSpec("camera", (side, side, 1), "uint8", "image"),), ActionSpec(1))
    images = torch.arange(rows)[:, None, None, None].expand(rows, side, side, 1)
    sizes: list[int] = []

    def first(batch: Batch) -> torch.Tensor:
        sizes.append(len(batch))
        assert not torch.is_grad_enabled()
        return batch["obs.0"][:, 0, 0, 0]

    assert in_parts(first, Batch({"obs.0": images}, rows), spec).tolist() == list(range(rows))
    assert max(sizes) * side * side <= 2**23
    assert len(sizes) == (10 if side == 200 and rows else 1)
