"""The `inline` pool: many environments that look like one, and mistakes that are named where they are made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from agents_core.contracts.environment import Actions, BehaviorSteps, Environment, EnvironmentSteps
from agents_core.contracts.worker_pool import WorkerPoolContext
from agents_core.environments.config import InlineConfig
from agents_core.environments.inline import InlinePool
from agents_core.environments.seeding import environment_seed
from agents_core.errors import EnvironmentFailedError, UserError
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.toy_config import ToyConfig
from agents_core.testing.toy_factory import ToyMaker
from sample_environments import SPEC, Hosted, Scripted, decision, impossible, lonely, terminal


def pool_of(*environments: Environment) -> InlinePool:
    return InlinePool(WorkerPoolContext(InlineConfig(), len(environments), False, lambda first, _: environments[first]))


def toy_pool(num_envs: int = 1, **config: object) -> InlinePool:
    maker = ToyMaker(ToyConfig.model_validate(config))
    return InlinePool(WorkerPoolContext(InlineConfig(), num_envs, False, maker))


def choices(*values: int) -> dict[str, Actions]:
    return {"Walker": Actions(np.zeros((len(values), 0), np.float32), np.array(values, np.int64)[:, None])}


def ids(steps: EnvironmentSteps) -> list[int]:
    return steps.behaviors["Walker"].decision.agent_id.tolist()


def test_arrays_of_a_single_environment_are_handed_on_as_they_are() -> None:
    given = BehaviorSteps(decision(7, 3), terminal(3))
    behavior = pool_of(Scripted({"Walker": given})).reset().behaviors["Walker"]
    assert behavior.decision.observations[0] is given.decision.observations[0]
    assert behavior.decision.reward is given.decision.reward
    assert behavior.terminal.observations[0] is given.terminal.observations[0]
    assert behavior.decision.agent_id.tolist() == [7, 3]


def test_rows_stand_in_the_order_of_environments_with_ids_of_their_own() -> None:
    one = Scripted({"Walker": BehaviorSteps(decision(0, 5, observation=1), terminal(5, observation=2))})
    two = Scripted({"Walker": BehaviorSteps(decision(0, observation=3), terminal(0, 5, observation=4))})
    behavior = pool_of(one, two).reset().behaviors["Walker"]
    assert behavior.decision.observations[0][:, 0].tolist() == [1, 1, 3]
    assert behavior.decision.agent_id.tolist() == [0, 10, 1]
    assert behavior.terminal.observations[0][:, 0].tolist() == [2, 4, 4]
    assert behavior.terminal.agent_id.tolist() == [10, 1, 11]


def test_the_agent_ids_are_the_same_object_while_the_agents_are_the_same() -> None:
    def walk(*agents: int) -> dict[str, BehaviorSteps]:
        return {"Walker": BehaviorSteps(decision(*agents), terminal())}

    for environments in (
        [Scripted(walk(1, 2), walk(1, 2), walk(2, 1), walk(2, 1))],
        [Scripted(walk(1, 2), walk(1, 2), walk(2, 1), walk(2, 1)), Scripted(*[walk(0)] * 4)],
    ):
        pool = pool_of(*environments)
        actions = choices(*[0] * (1 + len(environments)))
        seen = [pool.reset(), *(pool.step(actions) for _ in range(3))]
        first, second, third, fourth = (steps.behaviors["Walker"].decision.agent_id for steps in seen)
        assert first is second
        assert third is not second
        assert third is fourth


def test_each_environment_gets_its_part_of_the_actions() -> None:
    empty = {"Walker": BehaviorSteps(decision(), terminal(1))}
    environments = [
        Scripted({"Walker": BehaviorSteps(decision(*agents), terminal())}, empty, empty) for agents in ([0, 1], [], [4])
    ]
    pool = pool_of(*environments)
    pool.reset()
    pool.step(choices(1, 0, 1))
    assert environments[0].actions[0]["Walker"].discrete.tolist() == [[1], [0]]
    assert environments[1].actions == [{}]
    assert environments[2].actions[0]["Walker"].discrete.tolist() == [[1]]
    pool.step({})
    assert [environment.actions[1] for environment in environments] == [{}, {}, {}]


@pytest.mark.parametrize("actions", [{}, choices(1), choices(1, 0, 1)])
def test_a_step_without_an_action_for_each_decision_is_refused(actions: dict[str, Actions]) -> None:
    pool = pool_of(Scripted({"Walker": BehaviorSteps(decision(0, 1), terminal())}))
    pool.reset()
    with pytest.raises(ValueError, match="2 agents of behavior 'Walker' need an action"):
        pool.step(actions)


def test_a_mask_or_a_group_that_only_some_have_leaves_the_others_free() -> None:
    one, two = decision(0, 1), decision(0)
    two.action_mask = np.array([[False, True]])
    two.group_id, two.group_reward = np.array([6]), np.array([0.5], np.float32)
    pool = pool_of(*(Scripted({"Walker": BehaviorSteps(steps, terminal())}) for steps in (one, two)))
    merged = pool.reset().behaviors["Walker"].decision
    assert merged.action_mask is not None
    assert merged.action_mask.tolist() == [[True, True], [True, True], [False, True]]
    assert merged.group_id is not None
    assert merged.group_id.tolist() == [-1, -1, 13]
    assert merged.group_reward is not None
    assert merged.group_reward.tolist() == [0, 0, 0.5]


def test_statistics_of_all_environments_are_listed() -> None:
    walk = {"Walker": BehaviorSteps(decision(0), terminal())}
    pool = pool_of(Scripted(walk, walk), Scripted(walk, walk))
    assert pool.reset().stats == {"number": [0.0, 0.0]}
    assert pool.step(choices(0, 0)).stats == {"number": [1.0, 1.0]}


def test_every_environment_gets_a_seed_of_its_own_and_the_parameters() -> None:
    environments = [Scripted({"Walker": BehaviorSteps(decision(0), terminal())}) for _ in range(3)]
    pool = pool_of(*environments)
    pool.reset(seed=4, parameters={"gravity": 2.0})
    assert [environment.seed for environment in environments] == [environment_seed(4, number) for number in range(3)]
    assert all(environment.parameters == {"gravity": 2.0} for environment in environments)
    pool.reset()
    assert [environment.seed for environment in environments] == [None, None, None]


def test_neighbouring_seeds_share_no_environment_seed() -> None:
    seeds = {
        environment_seed(seed, number, restart) for seed in range(20) for number in range(20) for restart in (0, 1)
    }
    assert len(seeds) == 800
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_an_object_that_hosts_many_gets_the_seed_as_it_is() -> None:
    together = InlinePool(WorkerPoolContext(InlineConfig(), 4, True, Hosted))
    apart = InlinePool(WorkerPoolContext(InlineConfig(), 4, False, lambda first, count: Hosted(first, count)))
    seen = together.reset(seed=9).behaviors["Walker"].decision.observations[0]
    expected = [np.random.default_rng(environment_seed(9, number)).random(2) for number in range(4)]
    np.testing.assert_allclose(seen, expected, rtol=1e-6)
    assert len(apart.reset(seed=9).behaviors["Walker"].decision) == 4


def test_what_an_environment_raises_is_the_cause_and_is_named() -> None:
    pool = toy_pool(3, id="raises", failing_env=1)
    pool.reset()
    actions = {"Simple1D": Actions(np.zeros((3, 0), np.float32), np.zeros((3, 1), np.int64))}
    message = (
        r"environment 1 failed in step: ValueError: this environment fails on purpose \(.*failing.py:\d+ in _fail\)"
    )
    with pytest.raises(EnvironmentFailedError, match=message) as failure:
        pool.step(actions)
    assert isinstance(failure.value.__cause__, ValueError)
    assert failure.value.__cause__.__traceback__ is not None


def test_failures_of_reset_of_making_and_of_closing_are_told_apart() -> None:
    with pytest.raises(EnvironmentFailedError, match="environment 0 failed in reset: ValueError"):
        toy_pool(id="raises_in_reset").reset()
    with pytest.raises(EnvironmentFailedError, match="environment 0 failed in close: ValueError"):
        toy_pool(id="raises_in_close").close()
    with pytest.raises(EnvironmentFailedError, match="environments 0 to 3 failed while it was made: FileNotFoundError"):
        InlinePool(WorkerPoolContext(InlineConfig(), 4, True, impossible))


def test_sys_exit_in_an_environment_does_not_end_the_run_as_if_all_were_well() -> None:
    class Exiting(Scripted):
        def reset(self, *_: object, **__: object) -> EnvironmentSteps:
            raise SystemExit(0)

    with pytest.raises(EnvironmentFailedError, match="failed in reset: SystemExit: 0"):
        pool_of(Exiting()).reset()


def test_errors_of_the_user_pass_through_as_they_are() -> None:
    def refuse(*_: int) -> Environment:
        raise UserError("environment.id: no such thing")

    with pytest.raises(UserError, match=r"^environment\.id: no such thing$"):
        InlinePool(WorkerPoolContext(InlineConfig(), 1, False, refuse))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nan_observation", "environment 1, behavior 'Simple1D', agent 0: observation 'goal' is nan at "),
        ("nan_reward", "environment 1, behavior 'Simple1D', agent 2: reward is nan; "),
        (
            "wrong_shape",
            r"environment 1, behavior 'Simple1D': decision.observations\[0\] \('goal'\) is float32\[3, 2\]",
        ),
    ],
)
def test_numbers_that_cannot_be_are_named_with_environment_and_agent(name: str, message: str) -> None:
    pool = toy_pool(2, id=name, agents=3, failing_env=1, at_step=1)
    actions = {"Simple1D": Actions(np.zeros((6, 0), np.float32), np.zeros((6, 1), np.int64))}
    pool.reset()
    with pytest.raises(EnvironmentFailedError, match=message):
        pool.step(actions)


def test_an_infinite_final_observation_or_group_reward_is_named() -> None:
    ended = BehaviorSteps(decision(0), terminal(4, 5))
    ended.terminal.observations[0][1, 1] = np.inf
    with pytest.raises(EnvironmentFailedError, match=r"agent 5: final observation 'x' is inf at \(1,\)"):
        pool_of(Scripted({"Walker": ended})).reset()
    grouped = BehaviorSteps(decision(0), terminal())
    grouped.decision.group_reward = np.array([np.nan], np.float32)
    with pytest.raises(EnvironmentFailedError, match="agent 0: group reward is nan"):
        pool_of(Scripted({"Walker": grouped})).reset()


def broken(change: str) -> Environment:
    """An environment with one mistake in its first steps."""
    steps, ends = decision(0, 1), terminal(2)
    changes = {
        "reward": lambda: setattr(steps, "reward", np.zeros(2)),
        "list": lambda: setattr(steps, "reward", [0.0, 0.0]),
        "mask": lambda: setattr(steps, "action_mask", np.ones((2, 3), np.bool_)),
        "ids": lambda: setattr(steps, "agent_id", np.array([3, 3])),
        "truncated": lambda: setattr(ends, "truncated", np.zeros(2, np.bool_)),
        "count": lambda: setattr(steps, "observations", ()),
        "group": lambda: setattr(steps, "group_id", np.zeros(2, np.int32)),
    }
    changes[change]()
    return Scripted({"Walker": BehaviorSteps(steps, ends)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("reward", r"decision.reward is float64\[2\]; expected a NumPy array float32\[2\]"),
        ("list", r"decision.reward is a list; expected a NumPy array float32\[2\]"),
        ("mask", r"decision.action_mask is bool\[2, 3\]; expected a NumPy array bool\[2, 2\]"),
        ("ids", "agent 3 stands more than once in the decision steps"),
        ("truncated", r"terminal.truncated is bool\[2\]; expected a NumPy array bool\[1\]"),
        ("count", "decision steps hold 0 observations, but the behavior's spec names 1: x"),
        ("group", r"decision.group_id is int32\[2\]; expected a NumPy array int64\[2\]"),
    ],
)
def test_arrays_that_break_the_contract_are_named_at_the_first_step(change: str, message: str) -> None:
    with pytest.raises(EnvironmentFailedError, match=f"environment 0, behavior 'Walker': {message}"):
        pool_of(broken(change)).reset()


def test_steps_that_are_none_and_behaviors_without_a_spec_are_named() -> None:
    class Forgetful(Scripted):
        def reset(self, *_: object, **__: object) -> EnvironmentSteps:
            return None  # type: ignore[return-value]

    with pytest.raises(EnvironmentFailedError, match="environment 0 returned a NoneType from reset or step"):
        pool_of(Forgetful()).reset()
    stray = Scripted({"Stray": BehaviorSteps(decision(0), terminal())})
    with pytest.raises(
        EnvironmentFailedError, match=r"behavior 'Stray', which its behavior_specs lack \(there: 'Walker'"
    ):
        pool_of(stray).reset()


def test_environments_that_disagree_on_a_spec_are_refused() -> None:
    other = BehaviorSpec((ObservationSpec("x", (2,)),), ActionSpec(discrete_branches=(3,)))
    walk = {"Walker": BehaviorSteps(decision(0), terminal())}
    pool = pool_of(Scripted(walk), Scripted(walk, specs={"Walker": other}))
    with pytest.raises(EnvironmentFailedError, match="environment 1, behavior 'Walker': its spec is"):
        pool.reset()


def test_behavior_specs_are_known_before_the_first_reset_and_grow_with_late_behaviors() -> None:
    assert pool_of(Scripted({"Walker": BehaviorSteps(decision(0), terminal())})).behavior_specs == {"Walker": SPEC}
    pool = toy_pool(id="ragged", behaviors=("A", "B"), late_after=1)
    steps = pool.reset(seed=0)
    assert list(pool.behavior_specs) == ["A"]
    count = len(steps.behaviors["A"].decision)
    mask = steps.behaviors["A"].decision.action_mask
    assert mask is not None
    pool.step({"A": Actions(np.zeros((count, 0), np.float32), np.argmax(mask, axis=1)[:, None])})
    assert list(pool.behavior_specs) == ["A", "B"]


def test_more_environments_than_can_be_open_are_refused_and_closed() -> None:
    environments: list[Environment] = []

    def make(first: int, count: int) -> Environment:
        environments.append(lonely(first, count))
        return environments[-1]

    assert InlinePool(WorkerPoolContext(InlineConfig(), 1, False, make)).max_instances == 1
    with pytest.raises(UserError, match=r"environment\.num_envs is 3, but only 1 .* set environment.num_envs: 1"):
        InlinePool(WorkerPoolContext(InlineConfig(), 3, False, make))
    assert len(environments) == 2, "no second one was opened"
    assert [environment.is_closed for environment in _scripted(environments)] == [False, True]


def test_close_reaches_every_environment_and_may_be_called_twice() -> None:
    class Stuck(Scripted):
        def close(self) -> None:
            super().close()
            raise OSError("stuck")

    walk = {"Walker": BehaviorSteps(decision(0), terminal())}
    environments = [Scripted(walk), Stuck(walk), Scripted(walk)]
    pool = pool_of(*environments)
    with pytest.raises(EnvironmentFailedError, match="environment 1 failed in close: OSError: stuck"):
        pool.close()
    assert [environment.is_closed for environment in environments] == [True] * 3
    pool.close()


def _scripted(environments: Sequence[Environment]) -> list[Scripted]:
    return [environment for environment in environments if isinstance(environment, Scripted)]
