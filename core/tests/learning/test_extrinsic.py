"""The extrinsic reward, and its scale by the deviation of the return."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from agents_core.columns import Batch
from agents_core.learning.extrinsic import REWARD_LIMIT, ExtrinsicReward
from agents_core.learning.extrinsic_config import ExtrinsicConfig
from agents_core.schedules import Schedule
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.contexts import signal_context

GAMMA = 0.9


def signal(normalize: bool = True) -> ExtrinsicReward:
    spec = BehaviorSpec((ObservationSpec("a", (1,)),), ActionSpec(1))
    config = ExtrinsicConfig(strength=Schedule(0.5), gamma=GAMMA, normalize=normalize)
    return ExtrinsicReward(signal_context(config, spec))


def batch(
    rewards: list[float],
    agents: list[int] | None = None,
    ended: list[bool] | None = None,
    episodes: list[int] | None = None,
    ticks: list[int] | None = None,
    groups: list[float] | None = None,
) -> Batch:
    rows = len(rewards)
    fields = {
        "reward": torch.tensor(rewards),
        "agent_id": torch.tensor(agents or [0] * rows),
        "episode_id": torch.tensor(episodes or agents or [0] * rows),
        "tick": torch.tensor(ticks or list(range(rows))),
        "terminated": torch.tensor(ended or [False] * rows),
        "truncated": torch.zeros(rows, dtype=torch.bool),
    }
    if groups is not None:
        fields["group_reward"] = torch.tensor(groups)
    return Batch(fields, rows)


def test_plain_reward_is_the_environment_s_with_the_group_s() -> None:
    plain = signal(normalize=False)
    assert plain.evaluate(batch([1.0, -2.0])).tolist() == [1, -2]
    assert plain.evaluate(batch([1.0, -2.0], groups=[0.5, 4.0])).tolist() == [1.5, 2]
    assert (plain.strength.initial, plain.gamma, plain.ignores_termination) == (0.5, GAMMA, False)
    plain.load_state_dict(plain.state_dict())


def test_normalised_reward_is_divided_by_the_deviation_of_the_running_return() -> None:
    own = signal()
    rows = batch([1.0, 2.0, 3.0], ended=[False, True, False], episodes=[0, 0, 1])
    own.observe(rows)
    returns = np.array([1.0, 2 + GAMMA * 1, 3.0])
    np.testing.assert_allclose(own.evaluate(rows).numpy(), np.array([1, 2, 3]) / returns.std(), rtol=1e-6)


def test_returns_go_on_over_batches_and_stay_with_their_agent() -> None:
    own = signal()
    own.observe(batch([1.0, 10.0, 100.0], agents=[7, 3, 5], ended=[False, True, False], ticks=[0, 0, 0]))
    # Agent 3 began another episode; 5 and 7 go on, in another order; 5 stands still for a batch.
    own.observe(batch([2.0, 4.0], agents=[3, 7], episodes=[9, 7], ticks=[1, 1]))
    own.observe(batch([6.0, 8.0], agents=[7, 5], ticks=[2, 2]))
    first_7 = 1.0
    second_7 = 4 + GAMMA * first_7
    returns = [first_7, 10, 100, 2, second_7, 6 + GAMMA * second_7, 8 + GAMMA * 100]
    expected = 1 / np.std(returns)
    np.testing.assert_allclose(own.evaluate(batch([1.0])).numpy(), [expected], rtol=1e-6)


def test_an_episode_whose_end_was_not_seen_passes_nothing_to_the_next_one() -> None:
    own = signal()
    own.observe(batch([5.0], episodes=[1]))
    own.observe(batch([1.0], episodes=[2]))
    np.testing.assert_allclose(own.evaluate(batch([1.0])).numpy(), [1 / np.std([5.0, 1.0])], rtol=1e-6)


def test_rows_are_put_in_the_order_of_time() -> None:
    one, other = signal(), signal()
    one.observe(batch([1.0, 2.0, 3.0]))
    other.observe(batch([3.0, 1.0, 2.0], ticks=[2, 0, 1]))
    probe = batch([1.0])
    assert one.evaluate(probe).item() == other.evaluate(probe).item()


def test_evaluating_changes_nothing() -> None:
    own = signal()
    own.observe(batch([1.0, 2.0]))
    first = own.evaluate(batch([50.0, 1.0]))
    assert torch.equal(first, own.evaluate(batch([50.0, 1.0])))


def test_normalised_rewards_are_clipped() -> None:
    own = signal()
    own.observe(batch([0.1, -0.1]))
    assert own.evaluate(batch([1e6, -1e6])).tolist() == [REWARD_LIMIT, -REWARD_LIMIT]


@pytest.mark.parametrize("reward", [0.0, 3.0])
def test_a_return_that_never_varies_leaves_rewards_as_they_are(reward: float) -> None:
    own = signal()
    rows = batch([reward, reward], agents=[0, 1], ended=[True, True])
    own.observe(rows)
    assert own.evaluate(rows).tolist() == [reward, reward]


def test_state_continues_where_it_was_taken() -> None:
    whole, first, second = signal(), signal(), signal()
    early, late = batch([1.0, 5.0], agents=[0, 1]), batch([2.0, 3.0], agents=[1, 0], ticks=[3, 3])
    whole.observe(early)
    whole.observe(late)
    first.observe(early)
    second.load_state_dict(first.state_dict())
    second.observe(late)
    assert second.evaluate(late).tolist() == whole.evaluate(late).tolist()
