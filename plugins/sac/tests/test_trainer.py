"""What the trainer does with transitions, seen from outside."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from agents_core.columns import Batch, Columns
from agents_core.contracts.buffer import Buffer
from agents_core.errors import NonFiniteError, UserError
from agents_core.options import MemoryConfig, NetworkConfig
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.contexts import extrinsic_reward
from agents_sac.config import SACConfig
from agents_sac.gradient import CriticStep
from agents_sac.minibatch import Minibatch
from agents_sac.pace import Pace
from agents_sac.trainer import SACTrainer
from agents_sac.views import Views
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from sac_cases import ListBuffer, make_trainer, random_transitions, replay

SEEN = (ObservationSpec("one", (4,)),)
CONTINUOUS = BehaviorSpec(SEEN, ActionSpec(2))
BRANCHES = BehaviorSpec(SEEN, ActionSpec(0, (3, 2)))


def learn(trainer: SACTrainer, rows: int, seed: int = 0, **options: bool) -> dict[str, float]:
    trainer.process(random_transitions(trainer.policy.spec, rows, seed, **options), trainer._step + rows)
    return trainer.update()


def test_targets_go_exactly_tau_of_the_way() -> None:
    trainer = make_trainer(CONTINUOUS, tau=0.25, steps_per_update=40)
    critics, targets = trainer._networks.critics.flat.values, trainer._networks.targets.flat.values
    before = targets.clone()
    torch.testing.assert_close(before, critics, rtol=0, atol=0)
    learn(trainer, 40)
    assert not torch.equal(before, critics)
    torch.testing.assert_close(targets, 0.75 * before + 0.25 * critics, rtol=1e-6, atol=1e-7)
    again = targets.clone()
    trainer._networks.follow(1.0)
    torch.testing.assert_close(targets, critics, rtol=0, atol=0)
    assert not torch.equal(again, targets)


@pytest.mark.parametrize(("steps_per_update", "expected"), [(1, 40), (4, 10), (0.5, 80), (0.3, 133), (64, 0)])
def test_updates_are_due_by_steps(steps_per_update: float, expected: int) -> None:
    trainer = make_trainer(CONTINUOUS, steps_per_update=steps_per_update)
    trainer.process(random_transitions(CONTINUOUS, 40), 40)
    assert trainer._pace.due == expected
    assert trainer.is_ready() == (expected > 0)


@given(st.floats(0.05, 50), st.lists(st.integers(1, 9), min_size=1, max_size=60))
def test_over_time_every_step_is_paid_once(steps_per_update: float, arrivals: list[int]) -> None:
    pace, updates = Pace(steps_per_update), 0
    for rows in arrivals:
        pace.steps += rows
        updates += pace.take()
        assert 0 <= pace.steps < steps_per_update + 1e-6
    assert updates * steps_per_update + pace.steps == pytest.approx(sum(arrivals), abs=1e-6 * len(arrivals) + 1e-6)


def test_nothing_is_learned_before_buffer_init_steps_and_no_update_is_owed_for_them() -> None:
    trainer = make_trainer(CONTINUOUS, buffer_init_steps=100)
    trainer.process(random_transitions(CONTINUOUS, 99), 99)
    assert not trainer.is_ready()
    trainer.process(random_transitions(CONTINUOUS, 2), 101)
    assert trainer._pace.due == 2


@pytest.mark.parametrize("option", ["buffer_init_steps", "batch_size"])
def test_a_run_that_ends_before_anything_is_learned_is_warned_of(option: str, caplog: pytest.LogCaptureFixture) -> None:
    make_trainer(CONTINUOUS, make_buffer=replay(CONTINUOUS), max_steps=101, **{option: 100})
    assert not caplog.records
    make_trainer(CONTINUOUS, make_buffer=replay(CONTINUOUS), max_steps=100, **{option: 100})
    assert f"trainer.{option} (100) leaves nothing of max_steps (100)" in caplog.text


def test_actions_are_uniform_until_then_and_the_policys_afterwards() -> None:
    spec = BehaviorSpec(SEEN, ActionSpec(2, (3, 2)))
    trainer = make_trainer(spec, buffer_init_steps=100)
    trainer._networks.actor.action_head.bias.data.fill_(-3)
    seen, mask = (np.zeros((4000, 4), np.float32),), np.ones((4000, 5), np.bool_)
    mask[:, 0] = False
    actions = trainer.policy.act(seen, mask)
    assert np.abs(actions.continuous.mean(axis=0)).max() < 0.05
    assert np.abs(actions.continuous.var(axis=0) - 1 / 3).max() < 0.03
    assert np.bincount(actions.discrete[:, 0], minlength=3)[0] == 0
    assert abs(np.mean(actions.discrete[:, 0] == 1) - 0.5) < 0.05
    assert (trainer.policy.act(seen, mask, deterministic=True).continuous < -0.9).all()
    trainer.process(random_transitions(spec, 100), 100)
    assert (trainer.policy.act(seen, mask).continuous < -0.9).mean() > 0.9


def test_a_policy_that_was_loaded_is_what_acts_but_a_resumed_random_start_goes_on() -> None:
    seen = (np.zeros((1000, 4), np.float32),)

    def share_of_low_actions(trainer: SACTrainer) -> float:
        return float((trainer.policy.act(seen).continuous < -0.9).mean())

    trained = make_trainer(CONTINUOUS, buffer_init_steps=100)
    trained._networks.actor.action_head.bias.data.fill_(-3)
    early = trained.state_dict()
    trained.process(random_transitions(CONTINUOUS, 200), 200)
    late = trained.state_dict()

    loaded = make_trainer(CONTINUOUS, buffer_init_steps=100)
    loaded.load_policy_state(trained.policy_state())
    assert share_of_low_actions(loaded) > 0.9
    loaded.load_state_dict(late)
    assert share_of_low_actions(loaded) > 0.9
    loaded.process(random_transitions(CONTINUOUS, 50), 50)  # The first steps of a run of its own.
    assert share_of_low_actions(loaded) > 0.9
    assert not loaded.is_ready()

    loaded.load_policy_state(trained.policy_state())
    loaded.load_state_dict(early)
    assert share_of_low_actions(loaded) < 0.2
    loaded.process(random_transitions(CONTINUOUS, 50), 100)
    assert share_of_low_actions(loaded) > 0.9


def test_fewer_steps_for_each_update_after_a_resume_owe_none_for_those_before() -> None:
    trainer = make_trainer(CONTINUOUS, steps_per_update=100)
    trainer.process(random_transitions(CONTINUOUS, 90), 90)
    other = make_trainer(CONTINUOUS, steps_per_update=0.5)
    other.load_state_dict(trainer.state_dict())
    assert not other.is_ready()
    other.process(random_transitions(CONTINUOUS, 1), 91)
    assert not other.is_ready()  # Its own buffer holds a single transition.
    other.process(random_transitions(CONTINUOUS, 39), 130)
    assert other._pace.due == 78


@pytest.mark.parametrize("spec", [CONTINUOUS, BRANCHES, BehaviorSpec(SEEN, ActionSpec(1, (3, 2)))])
@pytest.mark.parametrize("memory", [None, MemoryConfig(size=8, sequence_length=4, burn_in=2)])
def test_a_loaded_trainer_goes_on_bit_for_bit(spec: BehaviorSpec, memory: MemoryConfig | None) -> None:
    network = NetworkConfig(hidden_units=16, activation="relu", normalize=True, memory=memory)
    signals = {"extrinsic": extrinsic_reward(spec, normalize=True)}
    # 7 steps for each update leave some that are not paid for when the state is taken.
    trainer = make_trainer(spec, network, signals=signals, steps_per_update=7)
    signals = {"extrinsic": extrinsic_reward(spec, normalize=True)}
    other = make_trainer(spec, network, signals=signals, seed=5, steps_per_update=7)
    assert isinstance(trainer.buffer, ListBuffer)
    size = trainer.policy.memory_size
    rows = random_transitions(spec, 40)
    if size:
        rows = type(rows)({**rows.fields, "memory.actor": np.zeros((40, size), np.float32)})
    trainer.process(rows, 40)
    trainer.update()
    other.load_policy_state(trainer.policy_state())
    other.load_state_dict(trainer.state_dict())
    assert isinstance(other.buffer, ListBuffer)
    other.buffer.table = {name: list(column) for name, column in trainer.buffer.table.items()}
    for one in (trainer, other):
        one.process(rows, 80)
        one.update()
    for name in ("actor", "critics", "targets"):
        a, b = (getattr(one._networks, name).flat.values for one in (trainer, other))
        assert torch.equal(a, b), name
    assert torch.equal(trainer._temperature.log_alpha, other._temperature.log_alpha)
    seen = (np.ones((3, 4), np.float32),)
    assert np.array_equal(trainer.policy.act(seen).continuous, other.policy.act(seen).continuous)
    assert np.array_equal(trainer.policy.act(seen).discrete, other.policy.act(seen).discrete)


def test_several_steps_sum_discounted_rewards_and_bootstrap_from_where_they_end() -> None:
    trainer = make_trainer(CONTINUOUS, signals={"extrinsic": extrinsic_reward(CONTINUOUS, gamma=0.5)}, n_step=3)
    rewards = trainer._rewards
    row = torch.arange(6)
    batch = Batch(
        {
            "obs.0": row.float()[:, None],
            "next_obs.0": row.float()[:, None] + 0.5,
            "action.continuous": row.float()[:, None],
            "terminated": torch.tensor([False, False, False, False, True, False]),
            "is_valid": torch.tensor([True, True, True, True, True, False]),
            "row": row,
            "weight": torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
        },
        6,
    )
    minibatch = rewards.several_steps(batch, torch.tensor([[1.0], [2], [4], [8], [16], [float("nan")]]), 3)
    assert minibatch.rewards[:, 0].tolist() == [1 + 0.5 * 2 + 0.25 * 4, 8 + 0.5 * 16]
    assert minibatch.discounts[:, 0].tolist() == [0.125, 0]
    assert minibatch.batch["obs.0"][:, 0].tolist() == [0, 3]
    assert minibatch.batch["action.continuous"][:, 0].tolist() == [0, 3]
    assert minibatch.batch["next_obs.0"][:, 0].tolist() == [2.5, 4.5]
    assert minibatch.batch["row"].tolist() == [0, 3]
    assert minibatch.weights is not None
    np.testing.assert_allclose(minibatch.weights, [0.1, 0.4])
    assert learn(trainer, 40)["train/value_loss"] > 0


def test_one_step_pieces_equal_single_transitions() -> None:
    trainer = make_trainer(CONTINUOUS)
    trainer.process(random_transitions(CONTINUOUS, 40), 40)
    assert trainer.buffer is not None
    batch = trainer.buffer.sample_sequences(9, 1, np.random.default_rng(0))
    scaled, _ = trainer._rewards.evaluate(batch, {"extrinsic": 1.0})
    one, several = trainer._rewards.one_step(batch, scaled), trainer._rewards.several_steps(batch, scaled, 1)
    torch.testing.assert_close(several.rewards, one.rewards)
    torch.testing.assert_close(several.discounts, one.discounts)


def test_priorities_are_the_absolute_errors_of_the_sampled_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = ListBuffer(weighted=True)
    trainer = make_trainer(CONTINUOUS, make_buffer=lambda _: buffer, steps_per_update=40)
    compute, expected = trainer._gradient.critic, {}

    def watch(minibatch: Minibatch, views: Views, alpha: torch.Tensor) -> CriticStep:
        step = compute(minibatch, views, alpha)
        expected.update(zip(minibatch.batch["row"].tolist(), step.errors.tolist(), strict=True))
        return step

    monkeypatch.setattr(trainer._gradient, "critic", watch)
    learn(trainer, 40)
    assert len(expected) > 10
    assert buffer.errors == expected


@pytest.mark.parametrize("hidden", [16, 600])  # by hand, and by autograd
def test_masked_actions_are_never_taken(hidden: int) -> None:
    network = NetworkConfig(hidden_units=hidden, activation="relu")
    trainer = make_trainer(BRANCHES, network, steps_per_update=4)
    learn(trainer, 64, masked=True)
    seen = (np.random.default_rng(0).normal(size=(500, 4)).astype(np.float32),)
    mask = np.random.default_rng(1).random((500, 5)) < 0.5
    mask[:, 0] = mask[:, 3] = True
    for deterministic in (False, True):
        chosen = trainer.policy.act(seen, mask, deterministic=deterministic).discrete
        assert mask[np.arange(500), chosen[:, 0]].all()
        assert mask[np.arange(500), 3 + chosen[:, 1]].all()


@pytest.mark.parametrize("hidden", [16, 600])
def test_what_masked_actions_would_be_worth_changes_nothing(hidden: int) -> None:
    rows = random_transitions(BRANCHES, 64, masked=True).fields
    rows["action_mask"][:, 0] = rows["next_action_mask"][:, 0] = False
    rows["action_mask"][:, 1:3] = rows["next_action_mask"][:, 1:3] = True
    rows["action.discrete"][:, 0] = 1 + np.arange(64) % 2
    stats = []
    for more in (0.0, 1000.0):
        trainer = make_trainer(BRANCHES, NetworkConfig(hidden_units=hidden, activation="relu"), steps_per_update=64)
        for critics in (trainer._networks.critics, trainer._networks.targets):
            critics.biases[-1].data[:, 0] += more
        trainer.process(Columns(rows), 64)
        stats.append(trainer.update())
    assert stats[0] == stats[1]


def test_normalisers_take_in_each_transition_once_and_are_those_of_all_networks() -> None:
    network = NetworkConfig(hidden_units=16, activation="relu", normalize=True)
    trainer = make_trainer(CONTINUOUS, network)
    rows = random_transitions(CONTINUOUS, 40)
    trainer.process(rows, 40)
    networks = trainer._networks
    (normaliser,) = networks.actor.normalisers
    assert networks.critics.normalisers == networks.targets.normalisers == (normaliser,)
    assert normaliser is not None
    np.testing.assert_allclose(normaliser.moments.mean, rows["obs.0"].mean(axis=0, dtype=np.float64))
    trainer.update()
    assert normaliser.moments.count == 40


def test_actions_without_bounds_are_refused() -> None:
    with pytest.raises(UserError, match="no bounds"):
        make_trainer(BehaviorSpec(SEEN, ActionSpec(2, bounded=False)))


def test_a_buffer_that_never_holds_a_minibatch_is_refused() -> None:
    with pytest.raises(UserError, match=r"keeps 20 transitions, too few for trainer\.batch_size \(32\)"):
        make_trainer(CONTINUOUS, make_buffer=replay(CONTINUOUS, 20), batch_size=32)


def test_a_buffer_of_unknown_capacity_that_never_holds_a_minibatch_is_refused() -> None:
    def make_buffer(memory_size: int) -> Buffer:
        buffer = replay(CONTINUOUS, 20)(memory_size)
        buffer.capacity = None
        return buffer

    trainer = make_trainer(CONTINUOUS, make_buffer=make_buffer, batch_size=32)
    trainer.process(random_transitions(CONTINUOUS, 40), 40)
    assert not trainer.is_ready()
    with pytest.raises(UserError, match=r"kept 20, too few for trainer\.batch_size \(32\)"):
        trainer.process(random_transitions(CONTINUOUS, 40), 80)


def test_a_loss_that_is_not_finite_is_named() -> None:
    trainer = make_trainer(CONTINUOUS)
    rows = random_transitions(CONTINUOUS, 40)
    rows["next_obs.0"][:] = np.inf
    trainer.process(rows, 40)
    with pytest.raises(NonFiniteError, match=r"train/value_loss|reward"):
        trainer.update()


def test_without_a_buffer_it_only_acts() -> None:
    trainer = make_trainer(CONTINUOUS, make_buffer=None)
    assert trainer.buffer is None
    assert trainer.policy.act((np.zeros((2, 4), np.float32),), deterministic=True).continuous.shape == (2, 2)
    with pytest.raises(RuntimeError, match="act only"):
        trainer.process(random_transitions(CONTINUOUS, 4), 4)


@pytest.mark.parametrize("option", ["steps_per_update", "reward_signal_steps_per_update"])
def test_more_updates_for_a_step_than_would_ever_end_are_refused(option: str) -> None:
    with pytest.raises(ValidationError, match=r"greater than or equal to 0\.001"):
        SACConfig(**{option: 1e-9})
