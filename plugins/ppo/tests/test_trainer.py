"""The PPO trainer keeps the contract of trainers, of reward signals and of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from agents_core.columns import Batch, Columns
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.errors import NonFiniteError
from agents_core.options import NetworkConfig
from agents_core.schedules import Schedule
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.contexts import extrinsic_reward
from agents_core.testing.driver import Driver
from agents_core.testing.probes import OneStepProbe, TimeLimit
from agents_core.testing.ragged import Ragged
from agents_core.testing.toys import MaskedBranches, MaskedHybrid, Simple1D
from agents_core.trajectory import Trajectories
from agents_ppo.config import PPOConfig
from ppo_cases import make_trainer

SMALL = PPOConfig(buffer_size=64, batch_size=16, num_epoch=3, learning_rate=Schedule(1e-3))
NORMALIZED = NetworkConfig(hidden_units=32, normalize=True)
FROZEN = SMALL.model_copy(update={"learning_rate": Schedule(1e-3, 0.0), "epsilon": Schedule(1e-5)})
ENVIRONMENTS = {
    "discrete": lambda: Simple1D(4),
    "continuous": lambda: Simple1D(4, "continuous"),
    "branches": lambda: MaskedBranches(4),
    "hybrid": lambda: MaskedHybrid(4),
    "ragged": lambda: Ragged(8),
    "groups": lambda: Ragged(8, groups=True),
}


def make_loop(name: str = "hybrid", config: PPOConfig = SMALL, **options: Any) -> Driver:
    environment = ENVIRONMENTS[name]()
    environment.reset(seed=0)
    (spec,) = environment.behavior_specs.values()
    return Driver(environment, make_trainer(spec, config, **options))


def weights(loop: Driver) -> torch.Tensor:
    return loop.trainer.policy.network.flat.values.clone()


class Recording(RewardSignal):
    """Rewards of 1, and what it was asked for."""

    def __init__(self, strength: float = 1.0, reward: float = 1.0) -> None:
        self.strength = Schedule(strength)
        self.gamma = 0.9
        self.calls: list[str] = []
        self.minibatches: list[Batch] = []
        self._reward = reward

    def observe(self, batch: Batch) -> None:
        self.calls.append(f"observe {len(batch)}")

    def evaluate(self, batch: Batch) -> torch.Tensor:
        self.calls.append(f"evaluate {len(batch)}")
        return torch.full((len(batch),), self._reward)

    def update(self, minibatch: Batch) -> dict[str, float]:
        self.minibatches.append(minibatch)
        return {"updates": float(len(self.minibatches))}

    def state_dict(self) -> dict[str, Any]:
        return {"updates": len(self.minibatches)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.loaded = state["updates"]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_at_learning_rate_0_the_ratio_is_1_and_the_kl_0(name: str, shared: bool) -> None:
    network = NetworkConfig(hidden_units=32, shared=shared, normalize=True)
    loop = make_loop(name, FROZEN, network=network, max_steps=1)
    before = weights(loop)
    loop.advance(65)
    assert loop.stats[-1]["train/learning_rate"] == 0
    assert torch.equal(weights(loop), before)
    assert abs(loop.stats[-1]["train/approx_kl"]) < 1e-6
    # No ratio is further than epsilon from 1.
    assert loop.stats[-1]["train/clip_fraction"] == 0


def test_statistics_have_the_names_of_the_contract() -> None:
    loop = make_loop()
    loop.advance(64)
    assert loop.stats[-1].keys() == {
        "train/policy_loss",
        "train/value_loss",
        "train/entropy",
        "train/approx_kl",
        "train/clip_fraction",
        "train/explained_variance",
        "train/learning_rate",
        "reward/extrinsic/raw",
        "reward/extrinsic/scaled",
    }
    assert all(isinstance(value, float) and np.isfinite(value) for value in loop.stats[-1].values())


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_seed_repeats_and_another_differs(name: str) -> None:
    loops = [make_loop(name, seed=seed, network=NORMALIZED) for seed in (1, 1, 2)]
    for loop in loops:
        loop.advance(200)
    assert torch.equal(weights(loops[0]), weights(loops[1]))
    assert loops[0].stats == loops[1].stats
    assert not torch.equal(weights(loops[0]), weights(loops[2]))


@pytest.mark.parametrize("shared", [False, True])
def test_a_trainer_continues_bit_for_bit_from_its_states(shared: bool) -> None:
    options = {"network": NetworkConfig(hidden_units=32, shared=shared, normalize=True)}
    loop = make_loop(**options, signals=None)
    loop.advance(200)
    states = loop.trainer.policy_state(), loop.trainer.state_dict()
    rollout = loop.rollout()
    loop.trainer.process(rollout, 300)
    stats = loop.trainer.update()

    other = make_loop(**options, seed=9)
    other.trainer.load_policy_state(states[0])
    other.trainer.load_state_dict(states[1])
    seen = rollout.columns.observations
    generators = [np.random.default_rng(3) for _ in range(2)]
    # The collector's rows hold actions drawn after the states were taken: they must come again.
    other.trainer.policy.act([observation[:4] for observation in seen], rollout.columns["action_mask"][:4])
    repeated = make_loop(**options, seed=9)
    repeated.trainer.load_policy_state(states[0])
    repeated.trainer.load_state_dict(states[1])
    repeated.trainer.process(rollout, 300)
    assert repeated.trainer.update() == stats
    assert torch.equal(weights(repeated), weights(loop))
    acts = [
        trainer.policy.act(seen, rollout.columns["action_mask"], generator=generator)
        for trainer, generator in zip((repeated.trainer, loop.trainer), generators, strict=True)
    ]
    np.testing.assert_array_equal(acts[0].raw, acts[1].raw)


def test_the_policy_s_own_noise_continues_from_its_state() -> None:
    loop = make_loop()
    loop.advance(64)
    state = loop.trainer.state_dict()
    seen = [np.zeros((4, *observation.shape), np.float32) for observation in loop.trainer.policy.spec.observations]
    expected = [loop.trainer.policy.act(seen).raw for _ in range(3)]
    loop.trainer.load_state_dict(state)
    np.testing.assert_array_equal([loop.trainer.policy.act(seen).raw for _ in range(3)], expected)


def test_signals_see_each_row_once_before_it_is_evaluated_and_train_in_every_minibatch() -> None:
    signal = Recording()
    loop = make_loop(signals={"own": signal})
    loop.advance(64)
    assert signal.calls == ["observe 64", "evaluate 64"]
    assert [len(minibatch) for minibatch in signal.minibatches] == [16] * 12
    epoch = torch.cat([minibatch["obs.1"] for minibatch in signal.minibatches[:4]])
    assert len(epoch.unique()) == 64
    assert signal.minibatches[0].next_observations[0].shape == (16, 3)
    assert loop.stats[-1]["reward/own/updates"] == pytest.approx(6.5)
    assert loop.stats[-1]["reward/own/raw"] == 1


def test_target_kl_ends_the_steps_of_the_policy_but_not_of_the_signals() -> None:
    (spec,) = MaskedHybrid(4).behavior_specs.values()
    signals = {"extrinsic": extrinsic_reward(spec), "own": Recording()}
    config = SMALL.model_copy(update={"target_kl": 1e-9, "learning_rate": Schedule(0.1)})
    loop = make_loop(config=config, signals=signals)
    before = weights(loop)
    loop.advance(64)
    assert len(signals["own"].minibatches) == 12
    # The first minibatch is at KL 0 and steps, the second one has left it and does not.
    assert loop.trainer.state_dict()["optimiser"]["steps"] == 1
    assert not torch.equal(weights(loop), before)


def test_a_signal_of_constant_strength_0_is_trained_and_logged_but_changes_nothing() -> None:
    (spec,) = MaskedHybrid(4).behavior_specs.values()
    silent = Recording(strength=0.0, reward=123.0)
    loops = [
        make_loop(signals={"extrinsic": extrinsic_reward(spec)}),
        make_loop(signals={"silent": silent, "extrinsic": extrinsic_reward(spec)}),
    ]
    for loop in loops:
        loop.advance(200)
    assert torch.equal(weights(loops[0]), weights(loops[1]))
    assert loops[1].stats[-1]["reward/silent/raw"] == 123
    assert loops[1].stats[-1]["reward/silent/scaled"] == 0
    assert silent.minibatches
    own = {key: value for key, value in loops[1].stats[-1].items() if "silent" not in key}
    assert own == loops[0].stats[-1]


def test_each_signal_has_a_value_head_and_the_strength_scales_its_reward() -> None:
    (spec,) = MaskedHybrid(4).behavior_specs.values()
    loop = make_loop(signals={"extrinsic": extrinsic_reward(spec), "own": Recording(strength=0.25)})
    loop.advance(64)
    assert loop.trainer.policy.network.value_head.out_features == 2
    assert loop.stats[-1]["reward/own/scaled"] == 0.25


def test_without_any_strength_only_the_entropy_is_left() -> None:
    loop = make_loop(signals={"own": Recording(strength=0.0)})
    loop.advance(64)
    assert loop.stats[-1]["train/policy_loss"] == 0
    assert loop.stats[-1]["train/value_loss"] == 0


def test_states_of_signals_are_kept() -> None:
    signals = {"own": Recording()}
    loop = make_loop(signals=signals)
    loop.advance(64)
    other = {"own": Recording()}
    make_loop(signals=other).trainer.load_state_dict(loop.trainer.state_dict())
    assert other["own"].loaded == 12


def test_the_normaliser_takes_in_a_rollout_after_its_update() -> None:
    loop = make_loop(network=NORMALIZED)
    rollout = loop.rollout()
    loop.trainer.process(rollout, 64)
    (normaliser, _) = loop.trainer.policy.network.normalisers
    assert normaliser.moments.count == 0
    loop.trainer.update()
    assert normaliser.moments.count == len(rollout)
    np.testing.assert_allclose(normaliser.moments.mean, rollout.columns["obs.0"].mean(axis=0), rtol=1e-6)


@pytest.mark.parametrize("reward", [0.0, 0.1, -1e6])
def test_equal_rewards_leave_weights_finite(reward: float) -> None:
    loop = make_loop("discrete", signals={"own": Recording(reward=reward)})
    loop.advance(300)
    assert torch.isfinite(weights(loop)).all()


def test_a_rollout_of_one_row_is_learned_from() -> None:
    loop = make_loop("discrete", PPOConfig(buffer_size=1, batch_size=1))
    rows = loop.rollout().columns.take(slice(0, 1))
    loop.trainer.process(Trajectories(rows, np.array([1]), (np.zeros((1, 1), np.float32),)), 1)
    assert np.isfinite(list(loop.trainer.update().values())).all()
    assert torch.isfinite(weights(loop)).all()


def test_a_reward_that_is_not_finite_names_its_signal() -> None:
    loop = make_loop(signals={"own": Recording(reward=float("nan"))})
    with pytest.raises(NonFiniteError, match=r"behavior 'Test', step 64: reward signal 'own'"):
        loop.advance(64)


def test_a_loss_of_a_signal_that_is_not_finite_is_named() -> None:
    class Diverging(Recording):
        def update(self, minibatch: Batch) -> dict[str, float]:
            return {**super().update(minibatch), "loss": float("inf")}

    with pytest.raises(NonFiniteError, match=r"behavior 'Test', step 64: reward signal 'own' .*'loss' as inf"):
        make_loop(signals={"own": Diverging()}).advance(64)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_loss_that_is_not_finite_is_named() -> None:
    loop = make_loop("discrete")
    rollout = loop.rollout()
    loop.trainer.policy.network.value_head.bias.data.fill_(float("inf"))
    loop.trainer.process(rollout, 64)
    with pytest.raises(NonFiniteError, match=r"behavior 'Test', step 64: train/"):
        loop.trainer.update()


def test_the_order_of_calls_is_checked() -> None:
    loop = make_loop()
    with pytest.raises(RuntimeError, match="call `process` first"):
        loop.trainer.update()
    loop.trainer.process(loop.rollout(), 64)
    assert loop.trainer.is_ready()
    with pytest.raises(RuntimeError, match="call `update`"):
        loop.trainer.process(loop.rollout(), 128)
    loop.trainer.update()
    assert not loop.trainer.is_ready()
    with pytest.raises(TypeError, match="PPO needs trajectories, not Columns"):
        loop.trainer.process(Columns({}), 0)


def test_values_bootstrap_through_a_time_limit() -> None:
    environment = TimeLimit(8)
    (spec,) = environment.behavior_specs.values()
    config = PPOConfig(buffer_size=256, batch_size=64, num_epoch=8, learning_rate=Schedule(3e-3, 0.0))
    trainer = make_trainer(spec, config, signals={"extrinsic": extrinsic_reward(spec, gamma=0.9)}, max_steps=25_000)
    Driver(environment, trainer, time_horizon=16).advance(25_000)
    values = trainer.policy.network.value((torch.linspace(-1, 1, 5)[:, None],))
    torch.testing.assert_close(values, torch.full((5, 1), 10.0), atol=0.5, rtol=0)


def test_values_are_of_the_scaled_reward_and_go_on_where_termination_is_ignored() -> None:
    class Endless(Recording):
        ignores_termination = True

    environment = OneStepProbe("constant_reward", 8)
    (spec,) = environment.behavior_specs.values()
    config = PPOConfig(buffer_size=256, batch_size=64, num_epoch=8, learning_rate=Schedule(3e-3, 0.0))
    signals = {"ending": Recording(strength=0.5), "endless": Endless()}
    trainer = make_trainer(spec, config, signals=signals, max_steps=15_000)
    Driver(environment, trainer).advance(15_000)
    # 0.5 · 1 and 1 / (1 - 0.9)
    values = trainer.policy.network.value((torch.zeros(1, 1),))
    torch.testing.assert_close(values, torch.tensor([[0.5, 10.0]]), atol=0.2, rtol=0)


def test_trajectories_of_agents_that_come_and_go_are_learned_from() -> None:
    loop = make_loop("groups")
    loop.advance(500)
    assert torch.isfinite(weights(loop)).all()


def test_an_unbounded_space_gets_the_raw_sample() -> None:
    spec = BehaviorSpec((ObservationSpec("a", (1,)),), ActionSpec(2, bounded=False))
    actions = make_trainer(spec, SMALL).policy.act((np.zeros((200, 1), np.float32),))
    np.testing.assert_array_equal(actions.continuous, actions.raw)
    assert np.abs(actions.continuous).max() > 1


@pytest.mark.parametrize("deviation", [0.1, 2.0])
def test_continuous_actions_start_with_the_deviation_of_the_config(deviation: float) -> None:
    config = SMALL.model_copy(update={"buffer_size": 4000, "initial_std": deviation})
    columns = make_loop("continuous", config).rollout().columns
    assert columns["action.raw"].std() == pytest.approx(deviation, rel=0.1)
