"""Scalars of `info` that an experiment asks for."""

from __future__ import annotations

from typing import Any

import pytest
from agents_core.errors import UserError
from gymnasium_toys import act, open_config


def collected(steps: int, keys: list[str], **config: Any) -> dict[str, list[float]]:
    environment = open_config(2, entry_point=config.pop("entry_point"), stats=keys, **config)
    found: dict[str, list[float]] = {}
    count = len(environment.reset(seed=0).behaviors["default"].decision)
    for _ in range(steps):
        result = act(environment, discrete=[[0]] * count)
        count = len(result.behaviors["default"].decision)
        for key, values in result.stats.items():
            found.setdefault(key, []).extend(values)
    return {key: sorted(values) for key, values in found.items()}


@pytest.mark.parametrize("mode", ["sync", "NEXT_STEP", "SAME_STEP", "DISABLED"])
def test_every_step_of_an_episode_counts_once_and_resets_do_not(mode: str) -> None:
    if mode == "sync":
        config: dict[str, Any] = {"entry_point": "gymnasium_toys:Counting", "kwargs": {"lengths": [3]}}
    else:
        kwargs = {"mode": mode, "lengths": [[3]]}
        config = {"entry_point": "gymnasium_toys:counting_vector", "kwargs": kwargs, "vectorization": "own"}
    found = collected(6, ["count", "deep.count", "absent"], **config)
    assert found == {
        "count": sorted([1.0, 2.0, 3.0] * 4),
        "deep.count": sorted([10.0, 20.0, 30.0] * 4),
    }


def test_an_info_that_is_no_number_is_refused_by_name() -> None:
    with pytest.raises(UserError, match=r"info\['text'\] is no number but 'no number'"):
        collected(1, ["text"], entry_point="gymnasium_toys:Counting")
