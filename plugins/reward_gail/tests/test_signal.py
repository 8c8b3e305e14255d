"""Rewards of every form, their bounds, the absorbing state, and what is kept."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from agents_core.contracts.demonstration import DemonstrationError
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.demonstrations import random_demonstration
from agents_reward_gail.absorbing import AbsorbingState
from agents_reward_gail.config import GAILConfig
from agents_reward_gail.recent import MEMORY, RecentMean
from gail_cases import SPEC, agents_batch, make_signal
from pydantic import ValidationError


def logits_of(signal: Any, batch: Any) -> np.ndarray:
    return signal._discriminator.logits(batch).detach().double().numpy()


def test_forms_of_the_reward(tmp_path: Path) -> None:
    batch = agents_batch()
    rewards = {}
    for form in ("positive", "logit", "centered"):
        signal = make_signal(tmp_path, reward=form, absorbing=False)
        signal.observe(batch)
        rewards[form] = signal.evaluate(batch).double().numpy()
        probability = 1 / (1 + np.exp(-logits_of(signal, batch)))
    np.testing.assert_allclose(rewards["positive"], -np.log(1 - probability), rtol=1e-5)
    np.testing.assert_allclose(rewards["logit"], np.log(probability) - np.log(1 - probability), atol=1e-6)
    np.testing.assert_allclose(rewards["centered"], rewards["positive"] - rewards["positive"].mean(), atol=1e-6)


@pytest.mark.parametrize("use_vail", [False, True])
@pytest.mark.parametrize("gradient_penalty", [0.0, 10.0])
def test_it_learns_to_tell_the_expert_from_the_agents(tmp_path: Path, use_vail: bool, gradient_penalty: float) -> None:
    signal = make_signal(tmp_path, gradient_penalty=gradient_penalty, use_vail=use_vail, learning_rate=0.01)
    batch = agents_batch(64, shift=4.0)
    signal.observe(batch)
    first = signal.update(batch)
    for _ in range(150):
        stats = signal.update(batch)
    assert stats["expert_accuracy"] > 0.85
    assert stats["policy_accuracy"] > 0.85
    assert stats["loss"] < first["loss"]
    expert = signal._expert.sample(16)
    assert logits_of(signal, expert).mean() > 0 > logits_of(signal, batch).mean()


def test_a_discriminator_that_is_sure_still_gives_rewards_that_are_finite_bounded_and_differ(tmp_path: Path) -> None:
    for form in ("positive", "logit", "centered"):
        signal = make_signal(tmp_path, reward=form, gradient_penalty=0, learning_rate=0.1, absorbing=False)
        batch = agents_batch(32, shift=30.0)
        signal.observe(batch)
        for _ in range(100):
            stats = signal.update(batch)
        assert stats["expert_accuracy"] == stats["policy_accuracy"] == 1
        rewards = torch.cat([signal.evaluate(batch), signal.evaluate(_with_rewards(signal._expert.sample(16)))])
        assert torch.isfinite(rewards).all()
        assert rewards.abs().max() < 25
        assert len(rewards.unique()) > 10
        assert all(np.isfinite(value) for value in stats.values())


def _with_rewards(batch: Any) -> Any:
    batch._fields["terminated"] = torch.zeros(len(batch), dtype=torch.bool)
    return batch


def test_the_weight_of_the_bottleneck_follows_what_it_holds(tmp_path: Path) -> None:
    signal = make_signal(tmp_path, use_vail=True)
    batch = agents_batch()
    signal.observe(batch)
    weight = 0.0
    for _ in range(5):
        stats = signal.update(batch)
        weight = max(0.0, weight + 5e-4 * (stats["information"] - 0.5))
        assert stats["information_weight"] == pytest.approx(weight)


def test_the_absorbing_state_is_judged_by_the_time_spent_there() -> None:
    # At gamma 0.9, one termination stands for 10 rows behind it.
    state = AbsorbingState(0.9, terminated=0.1)  # the expert: one half of its time
    assert (state.logit, state.offset) == (0.0, 0.0)
    state.observe(rows=100, terminations=0)
    assert state.logit == 10.0
    assert state.offset == pytest.approx(np.log(0.5))
    agents = AbsorbingState(0.9, terminated=0.1)
    agents.observe(rows=100, terminations=30)  # three quarters
    assert agents.logit == pytest.approx(np.log(0.5 / 0.75))
    assert agents.offset == pytest.approx(np.log(0.5 / 0.25))
    never = AbsorbingState(0.9, terminated=0.0)
    never.observe(rows=100, terminations=1)
    assert never.logit == -10.0
    both = AbsorbingState(0.9, terminated=0.0)
    both.observe(rows=100, terminations=0)
    assert (both.logit, both.offset) == (0.0, 0.0)


@pytest.mark.parametrize("form", ["positive", "logit"])
def test_a_termination_is_paid_with_the_value_of_the_absorbing_state(tmp_path: Path, form: str) -> None:
    demonstration = random_demonstration(SPEC, (10, 10))  # One truncated, one terminated: 1 in 20 rows.
    signal = make_signal(tmp_path, demonstration, gamma=0.9, reward=form)
    batch = agents_batch(20, terminated=4)
    signal.observe(batch)
    expert, agents = 0.5 / 1.5, 2 / 3
    logits = logits_of(signal, batch) + np.log((1 - expert) / (1 - agents))
    there = np.log(expert / agents)
    reward = (lambda logit: logit) if form == "logit" else (lambda logit: np.log1p(np.exp(logit)))
    expected = reward(logits) + np.where(np.arange(20) >= 16, 9 * reward(there), 0)
    np.testing.assert_allclose(signal.evaluate(batch).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_living_long_and_ending_early_are_worth_the_same_where_both_do_as_the_expert_does() -> None:
    """With as much time in the absorbing state as the expert, every step anywhere is worth -log ½."""
    for length in (1, 5, 50):
        state = AbsorbingState(0.9, terminated=1 / length)
        state.observe(rows=10 * length, terminations=10)
        step, there = np.log1p(np.exp(state.offset)), np.log1p(np.exp(state.logit))
        value = step * (1 - 0.9**length) / 0.1 + 0.9 ** (length - 1) * 9 * there
        assert value == pytest.approx(np.log(2) / 0.1)


def test_an_always_positive_reward_without_absorbing_state_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        make_signal(tmp_path)
        make_signal(tmp_path, reward="centered", absorbing=False)
        make_signal(tmp_path, reward="logit", absorbing=False)
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        make_signal(tmp_path, absorbing=False)
    assert "2 of the expert's 3 episodes end by themselves" in caplog.text
    assert "absorbing: true" in caplog.text


def test_states_continue_bit_for_bit(tmp_path: Path) -> None:
    options: dict[str, Any] = {"use_vail": True, "reward": "centered", "use_actions": True}
    signal = make_signal(tmp_path, **options)
    batch = agents_batch(terminated=3)
    for _ in range(3):
        signal.observe(batch)
        signal.update(batch)
    state = signal.state_dict()
    other = make_signal(tmp_path, seed=5, **options)
    other.load_state_dict(state)
    for one in (signal, other):
        one.observe(batch)
    assert signal.update(batch) == other.update(batch)
    assert torch.equal(signal.evaluate(batch), other.evaluate(batch))


def test_a_demonstration_smaller_than_the_batch_works(tmp_path: Path) -> None:
    signal = make_signal(tmp_path, random_demonstration(SPEC, (1,)))
    batch = agents_batch(64)
    signal.observe(batch)
    assert np.isfinite(signal.update(batch)["loss"])


def test_other_specs_are_refused_with_both_shown(tmp_path: Path) -> None:
    other = BehaviorSpec((ObservationSpec("seen", (4,)),), ActionSpec(2))
    make_signal(tmp_path)  # Writes demonstrations of SPEC.
    with pytest.raises(DemonstrationError, match=r"(?s)seen float32\[2\].*seen float32\[4\]"):
        make_signal(tmp_path, random_demonstration(other))


def test_what_acts_only_needs_no_demonstrations(tmp_path: Path) -> None:
    make_signal(tmp_path)
    (tmp_path / "expert.h5").unlink()
    (tmp_path / "expert.h5").mkdir()
    make_signal(tmp_path, acts_only=True)


def test_recent_means_forget() -> None:
    mean = RecentMean()
    assert mean.is_empty
    mean.take(10, 20.0)
    assert mean.value == 2.0
    for _ in range(100):
        mean.take(MEMORY, 0.0)
    assert mean.value < 1e-6


def test_options() -> None:
    assert all(field.description for field in GAILConfig.model_fields.values())
    with pytest.raises(ValidationError, match="gamma must be less than 1 with `absorbing`"):
        GAILConfig(demo_path="x.h5", gamma=1)
    GAILConfig(demo_path="x.h5", gamma=1, absorbing=False)
    with pytest.raises(ValidationError, match="demo_path"):
        GAILConfig()


def test_normalisers_take_in_as_much_of_the_expert_as_of_the_agents(tmp_path: Path) -> None:
    signal = make_signal(tmp_path)
    batch = agents_batch(16, shift=8.0)  # The demonstration has 16 rows too.
    signal.observe(batch)
    expert = random_demonstration(SPEC, (5, 7, 4)).episodes.columns["obs.0"]
    both = np.concatenate([expert, batch["obs.0"].numpy()]).astype(np.float64)
    seen = signal._discriminator.inputs(batch)[0].numpy()
    expected = (batch["obs.0"].numpy() - both.mean(axis=0)) / both.std(axis=0)
    np.testing.assert_allclose(seen, np.clip(expected, -5, 5), rtol=1e-5, atol=1e-5)
