"""The toys do what their descriptions say."""

from __future__ import annotations

import numpy as np
import pytest
from agents_core.contracts.environment import Actions, Environment, EnvironmentSteps
from agents_core.testing.column_environment import ColumnEnvironment
from agents_core.testing.probes import DelayedReward, OneStepProbe, TimeLimit
from agents_core.testing.random_actions import random_actions
from agents_core.testing.toys import MaskedBranches, MaskedHybrid, Simple1D


def choose(*choices: int) -> Actions:
    """One discrete branch."""
    return Actions(np.zeros((len(choices), 0), np.float32), np.array(choices, np.int64)[:, None])


def push(*values: float) -> Actions:
    """One continuous action."""
    return Actions(np.array(values, np.float32)[:, None], np.zeros((len(values), 0), np.int64))


def goals(steps: EnvironmentSteps) -> np.ndarray:
    return steps.behaviors["Simple1D"].decision.observations[0][:, 0].copy()


def test_simple1d_pays_1_in_all_on_the_fastest_right_way() -> None:
    toy = Simple1D(agents=2)
    goal = goals(toy.reset(seed=3))
    total = np.zeros(2)
    for step in range(10):
        behavior = toy.step({"Simple1D": choose(*(goal > 0).astype(int))}).behaviors["Simple1D"]
        total += behavior.decision.reward
        assert len(behavior.terminal) == (2 if step == 9 else 0)
    total += behavior.terminal.reward
    np.testing.assert_allclose(total, [1.0, 1.0], atol=1e-6)
    assert not behavior.terminal.truncated.any()


def test_simple1d_takes_back_what_it_pays_on_the_wrong_side() -> None:
    toy = Simple1D(agents=1)
    goal = goals(toy.reset(seed=3))
    rewards = []
    for _ in range(10):
        behavior = toy.step({"Simple1D": choose(int(goal[0] < 0))}).behaviors["Simple1D"]
        rewards.append(float(behavior.decision.reward[0]))
    assert rewards == pytest.approx([-0.001] * 9 + [0.0])
    assert behavior.terminal.reward.tolist() == pytest.approx([-1.011])


def test_simple1d_clamps_a_continuous_action_to_a_tenth() -> None:
    toy = Simple1D(agents=2, action="continuous")
    toy.reset(seed=0)
    for step in range(10):
        terminal = toy.step({"Simple1D": push(1.0, 0.05)}).behaviors["Simple1D"].terminal
        assert terminal.agent_id.tolist() == ([0] if step == 9 else [])


def test_simple1d_agents_end_at_their_own_time_and_see_their_old_goal_last() -> None:
    toy = Simple1D(agents=2)
    start = goals(toy.reset(seed=0))
    for _ in range(9):
        steps = toy.step({"Simple1D": choose(1, 1)})
    np.testing.assert_array_equal(goals(steps), start)
    steps = toy.step({"Simple1D": choose(1, 0)})
    terminal = steps.behaviors["Simple1D"].terminal
    assert terminal.agent_id.tolist() == [0]
    assert terminal.observations[0].tolist() == [[start[0]]]
    assert goals(steps)[1] == start[1]


def test_simple1d_cuts_episodes_that_lead_nowhere() -> None:
    toy = Simple1D(agents=1, action="continuous")
    toy.reset(seed=0)
    for step in range(1000):
        terminal = toy.step({"Simple1D": push(0.0)}).behaviors["Simple1D"].terminal
        assert len(terminal) == (step == 999)
    assert terminal.truncated.tolist() == [True]


@pytest.mark.parametrize("toy", [Simple1D(64), MaskedBranches(64), MaskedHybrid(64), TimeLimit(64)])
def test_a_seed_fixes_everything_and_another_one_changes_it(toy: ColumnEnvironment) -> None:
    def play(seed: int | None) -> list[np.ndarray]:
        generator = np.random.default_rng(0)
        steps = toy.reset(seed)
        seen = []
        for _ in range(12):
            decision = next(iter(steps.behaviors.values())).decision
            seen.append(decision.observations[0].copy())
            steps = toy.step(random_actions(steps, toy.behavior_specs, generator))
        return seen

    first = play(1)
    np.testing.assert_array_equal(play(1), first)
    assert not np.array_equal(play(2), first)
    play(1)
    assert not np.array_equal(play(None), first), "without a seed the generator goes on"


def play_episode(toy: Environment, act: str) -> float:
    """Mean return over one episode of each agent; `act` is `best` or `random`."""
    generator = np.random.default_rng(0)
    steps = toy.reset(seed=5)
    name = next(iter(steps.behaviors))
    spec = toy.behavior_specs[name]
    total = 0.0
    while not len(steps.behaviors[name].terminal):
        actions = random_actions(steps, toy.behavior_specs, generator)
        if act == "best":
            observations = steps.behaviors[name].decision.observations
            first = 0
            for branch, size in enumerate(spec.action.discrete_branches):
                actions[name].discrete[:, branch] = np.argmax(observations[0][:, first : first + size], axis=1)
                first += size
            if spec.action.continuous_size:
                actions[name].continuous[:] = observations[1]
        steps = toy.step(actions)
        total += float(steps.behaviors[name].decision.reward.sum() + steps.behaviors[name].terminal.reward.sum())
    return total / len(steps.behaviors[name].terminal)


@pytest.mark.parametrize("toy", [MaskedBranches(100), MaskedHybrid(100)])
def test_masked_toys_pay_1_for_what_is_shown_and_about_half_for_chance(toy: Environment) -> None:
    assert play_episode(toy, "best") == pytest.approx(1.0)
    assert 0.3 < play_episode(toy, "random") < 0.7


def test_masked_toys_forbid_about_half_of_the_other_choices_and_never_the_target() -> None:
    toy = MaskedBranches(2000)
    decision = toy.reset(seed=0).behaviors["MaskedBranches"].decision
    assert decision.action_mask is not None
    is_target = decision.observations[0] == 1
    assert decision.action_mask[is_target].all()
    assert decision.action_mask[~is_target].mean() == pytest.approx(0.5, abs=0.03)


def test_a_forbidden_choice_raises() -> None:
    toy = MaskedBranches(1)
    decision = toy.reset(seed=0).behaviors["MaskedBranches"].decision
    assert decision.action_mask is not None
    forbidden = int(np.argmin(decision.action_mask[0, 3:]))
    assert not decision.action_mask[0, 3 + forbidden]
    allowed = int(np.argmax(decision.action_mask[0, :3]))
    actions = Actions(np.zeros((1, 0), np.float32), np.array([[allowed, forbidden]]))
    with pytest.raises(ValueError, match=f"agent 0 chose {forbidden} in branch 1, which is forbidden"):
        toy.step({"MaskedBranches": actions})


def probe_rewards(toy: Environment, actions: Actions) -> tuple[list[float], list[float]]:
    """(observation, reward of the ended episode) of each agent after one step."""
    seen = toy.reset(seed=1).behaviors["Probe"].decision.observations[0][:, 0].tolist()
    return seen, toy.step({"Probe": actions}).behaviors["Probe"].terminal.reward.tolist()


def test_one_step_probes_pay_what_they_name() -> None:
    up, down = choose(1, 1, 1, 1, 1, 1), choose(0, 0, 0, 0, 0, 0)
    assert probe_rewards(OneStepProbe("constant_reward", 6), down)[1] == [1] * 6
    seen, rewards = probe_rewards(OneStepProbe("observation_reward", 6), down)
    assert seen == rewards
    assert set(seen) == {-1.0, 1.0}
    assert probe_rewards(OneStepProbe("action_reward", 6), up)[1] == [1] * 6
    assert probe_rewards(OneStepProbe("action_reward", 6), down)[1] == [-1] * 6
    seen, rewards = probe_rewards(OneStepProbe("observation_action_reward", 6), down)
    assert [-value for value in seen] == rewards
    half = push(0.5, -0.5)
    assert probe_rewards(OneStepProbe("action_reward", 2, "continuous"), half)[1] == [0.5, -0.5]


def test_delayed_reward_comes_after_the_second_step() -> None:
    toy = DelayedReward(1)
    first = toy.reset(seed=0).behaviors["Probe"].decision
    assert first.observations[0].tolist() == [[0.0]]
    second = toy.step({"Probe": choose(0)}).behaviors["Probe"]
    assert (second.decision.observations[0].tolist(), second.decision.reward.tolist()) == ([[1.0]], [0.0])
    third = toy.step({"Probe": choose(0)}).behaviors["Probe"]
    assert (third.terminal.reward.tolist(), third.terminal.truncated.tolist()) == ([1.0], [False])
    assert third.decision.observations[0].tolist() == [[0.0]]


def test_time_limit_cuts_off_after_ten_steps_of_reward_1() -> None:
    toy = TimeLimit(3)
    toy.reset(seed=0)
    for step in range(20):
        behavior = toy.step({"Probe": choose(0, 0, 0)}).behaviors["Probe"]
        assert len(behavior.terminal) == (3 if step in (9, 19) else 0)
        paid = behavior.terminal.reward if len(behavior.terminal) else behavior.decision.reward
        assert paid.tolist() == [1, 1, 1]
    assert behavior.terminal.truncated.all()
    assert not np.array_equal(behavior.terminal.observations[0], behavior.decision.observations[0])
