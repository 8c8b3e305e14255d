"""Demonstrations of hand-written experts are whole episodes."""

from __future__ import annotations

import numpy as np
import pytest
from agents_core.contracts.environment import Actions, DecisionSteps
from agents_core.demonstrations import check_demonstration
from agents_core.testing.experts import chosen, demonstrate
from agents_core.testing.toys import MaskedHybrid, Simple1D


@pytest.mark.parametrize("episodes", [1, 3, 10])
@pytest.mark.parametrize("agents", [1, 4])
def test_the_first_episodes_are_recorded(agents: int, episodes: int) -> None:
    toy = Simple1D(agents)

    def expert(decision: DecisionSteps) -> Actions:
        return chosen(toy, discrete=decision.observations[0] > 0)

    demonstration = demonstrate(toy, expert, episodes)
    check_demonstration(demonstration, "toy")
    columns = demonstration.episodes.columns
    assert demonstration.episodes.lengths.tolist() == [10] * episodes
    assert columns["terminated"].sum() == episodes
    returns = np.add.reduceat(columns["reward"], np.arange(0, 10 * episodes, 10))
    np.testing.assert_allclose(returns, 1.0, rtol=1e-5)
    np.testing.assert_array_equal(columns["action.discrete"][:, 0] * 2 - 1, columns["obs.0"][:, 0])


def test_masks_and_hybrid_actions_are_recorded() -> None:
    toy = MaskedHybrid(3)

    def expert(decision: DecisionSteps) -> Actions:
        shown, value = decision.observations
        return chosen(toy, discrete=shown.argmax(axis=1), continuous=value)

    demonstration = demonstrate(toy, expert, 5)
    check_demonstration(demonstration, "toy")
    assert "action_mask" in demonstration.episodes.columns
    np.testing.assert_array_equal(
        demonstration.episodes.columns["action.continuous"], demonstration.episodes.columns["obs.1"]
    )
