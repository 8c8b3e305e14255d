"""Scalars of `info` that an experiment asks for."""

from __future__ import annotations

from typing import Any

import pytest
from agents_core.errors import UserError
from gymnasium_toys import act, open_config


def collected(steps: int, keys: list[str], **config: Any) -> dict[str, list[float]]:
    environment = open_config(2, stats=keys, **config)
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
    found = collected(6, ["count", "deep.count", "second", "absent"], **config)
    assert found == {
        "second": [7.0, 7.0, 8.0, 8.0],
        "count": sorted([1.0, 2.0, 3.0] * 4),
        "deep.count": sorted([10.0, 20.0, 30.0] * 4),
    }


@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP", "DISABLED"])
def test_an_instance_without_the_key_gives_no_number(mode: str) -> None:
    kwargs = {"mode": mode, "lengths": [[9], [1]]}
    config: dict[str, Any] = {"entry_point": "gymnasium_toys:counting_vector", "kwargs": kwargs}
    assert collected(4, ["second"], vectorization="own", **config) == {"second": [7.0]}


def test_wrappers_see_the_end_that_a_step_limit_makes() -> None:
    found = collected(
        9,
        ["episode.l"],
        entry_point="gymnasium_toys:Counting",
        kwargs={"lengths": [9, 2]},
        max_episode_steps=3,
        wrappers=["RecordEpisodeStatistics"],
    )
    assert found == {"episode.l": [2.0, 2.0, 3.0, 3.0, 3.0, 3.0]}
    assert collected(4, ["episode.l"], id="Acrobot-v1", max_episode_steps=3, wrappers=["RecordEpisodeStatistics"]) == {
        "episode.l": [3.0, 3.0]
    }


def test_an_info_that_is_no_number_is_refused_by_name() -> None:
    with pytest.raises(UserError, match=r"info\['text'\] is no number but 'no number'"):
        collected(1, ["text"], entry_point="gymnasium_toys:Counting")
