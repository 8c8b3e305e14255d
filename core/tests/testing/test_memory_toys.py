"""The cue is seen once, and the answer counts once."""

from __future__ import annotations

import numpy as np
from agents_core.contracts.environment import Actions
from agents_core.testing.memory_toys import RememberedCue


def test_the_answer_counts_eight_decisions_after_the_cue() -> None:
    toy = RememberedCue(agents=20)
    steps = toy.reset(seed=1).behaviors["RememberedCue"]
    cue = steps.decision.observations[0][:, 0].copy()
    assert set(cue) == {-1, 1}
    says_one = Actions(np.zeros((20, 0), np.float32), np.ones((20, 1), np.int64))
    for decision in range(9):
        seen = steps.decision.observations[0]
        assert (seen[:, 1] == (decision == 8)).all()
        assert (seen[:, 0] == (cue if decision == 0 else 0)).all()
        steps = toy.step({"RememberedCue": says_one}).behaviors["RememberedCue"]
        assert (steps.decision.reward == 0).all()
        assert len(steps.terminal) == (20 if decision == 8 else 0)
    np.testing.assert_array_equal(steps.terminal.reward, cue)
    assert not steps.terminal.truncated.any()
