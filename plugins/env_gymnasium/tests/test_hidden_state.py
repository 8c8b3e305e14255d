"""What a seeded reset does not restore is named."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest
from gymnasium.wrappers.vector import NormalizeReward
from gymnasium_toys import counting_vector, open_config


class Unknown(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Nobody knows what it remembers."""


def normalised(num_envs: int) -> Any:
    return NormalizeReward(counting_vector(num_envs, "NEXT_STEP"))


@pytest.mark.parametrize(
    ("wrappers", "names"),
    [
        ([], ()),
        (["TimeAwareObservation", {"type": "ClipReward", "min_reward": 0}, "RecordEpisodeStatistics"], ()),
        (["NormalizeObservation", "OrderEnforcing", "NormalizeReward"], ("NormalizeReward", "NormalizeObservation")),
        (["test_hidden_state.py:Unknown"], ("Unknown",)),
    ],
)
def test_wrappers_that_remember_or_may_remember_are_named(wrappers: list[Any], names: tuple[str, ...]) -> None:
    assert open_config(2, id="Acrobot-v1", wrappers=wrappers).hidden_state == names


def test_a_seeded_reset_restores_an_environment_without_hidden_state() -> None:
    environment = open_config(2, id="Acrobot-v1")
    starts = [environment.reset(seed=4).behaviors["default"].decision.observations[0].tolist() for _ in range(2)]
    assert starts[0] == starts[1]
    assert environment.hidden_state == ()


def test_wrappers_of_vector_environments_are_named_too() -> None:
    environment = open_config(2, entry_point="test_hidden_state.py:normalised", vectorization="own")
    assert environment.hidden_state == ("NormalizeReward",)
    assert open_config(2, id="CartPole-v1", vectorization="own").hidden_state == ()
