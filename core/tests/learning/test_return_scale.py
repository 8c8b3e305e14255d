"""Returns that cross episodes, and agents that never come back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from agents_core.columns import Batch
from agents_core.learning.return_scale import ReturnScale


def batch(agents: list[int], ended: list[bool], episodes: list[int], ticks: list[int] | None = None) -> Batch:
    fields = {
        "agent_id": torch.tensor(agents),
        "episode_id": torch.tensor(episodes),
        "terminated": torch.tensor(ended),
        "truncated": torch.zeros(len(agents), dtype=torch.bool),
    }
    if ticks is not None:
        fields["tick"] = torch.tensor(ticks)
    return Batch(fields, len(agents))


def rewards(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize("crosses", [True, False])
def test_a_return_goes_on_across_episodes_where_it_is_to(crosses: bool) -> None:
    scale = ReturnScale(0.5, crosses_episodes=crosses)
    scale.update(batch([3, 8, 3], [True, False, True], [0, 1, 2]), rewards(1, 10, 2))
    scale.update(batch([3], [False], [5]), rewards(4))
    returns = [1, 10, 2 + 0.5 * 1, 4 + 0.5 * 2.5] if crosses else [1, 10, 2, 4]
    assert scale.factor == pytest.approx(1 / np.std(returns))


def test_without_ticks_rows_of_an_agent_are_in_the_order_of_time() -> None:
    scale, sorted_scale = ReturnScale(0.9), ReturnScale(0.9)
    scale.update(batch([1, 2, 1], [False] * 3, [1, 2, 1]), rewards(1, 5, 3))
    sorted_scale.update(batch([1, 1, 2], [False] * 3, [1, 1, 2], ticks=[7, 8, 0]), rewards(1, 3, 5))
    assert scale.factor == sorted_scale.factor


def test_agents_longest_unseen_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReturnScale, "MOST_AGENTS", 2)
    scale = ReturnScale(1.0, crosses_episodes=True)
    for agent in (9, 4, 9, 7):
        scale.update(batch([agent], [True], [0]), rewards(1))
    assert scale.state_dict()["agents"].tolist() == [7, 9]
    assert scale.state_dict()["returns"].tolist() == [1, 2]
    copy = ReturnScale(1.0, crosses_episodes=True)
    copy.load_state_dict(scale.state_dict())
    for own in (scale, copy):
        own.update(batch([4, 9], [True, True], [0, 0]), rewards(5, 5))
    assert copy.factor == scale.factor
    assert copy.state_dict()["agents"].tolist() == [4, 9]
