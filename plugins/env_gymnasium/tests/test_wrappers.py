"""Components of vector observations can be hidden."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from agents_env_gymnasium.wrappers import KeepComponents


def test_only_the_kept_components_are_seen_in_their_order() -> None:
    plain, hidden = gymnasium.make("CartPole-v1"), KeepComponents(gymnasium.make("CartPole-v1"), [2, 0])
    seen, _ = plain.reset(seed=1)
    kept, _ = hidden.reset(seed=1)
    np.testing.assert_array_equal(kept, seen[[2, 0]])
    np.testing.assert_array_equal(hidden.step(1)[0], plain.step(1)[0][[2, 0]])
    assert hidden.observation_space.shape == (2,)
    assert hidden.observation_space.contains(kept)


@pytest.mark.parametrize("keep", [[], [4], [-1]])
def test_components_that_are_not_there_are_refused(keep: list[int]) -> None:
    with pytest.raises(ValueError, match=r"keep must name components 0 to 3"):
        KeepComponents(gymnasium.make("CartPole-v1"), keep)


def test_what_is_no_vector_is_refused() -> None:
    with pytest.raises(ValueError, match="takes vector observations"):
        KeepComponents(gymnasium.make("FrozenLake-v1"), [0])
