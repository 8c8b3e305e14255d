"""The `process` pool: the same steps as inline, and workers that fail, die, hang and end."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from agents_core.contracts.environment import Actions, BehaviorSteps, DecisionSteps, Environment, EnvironmentSteps
from agents_core.contracts.worker_pool import WorkerPool, WorkerPoolContext
from agents_core.environments.config import InlineConfig, ProcessConfig
from agents_core.environments.inline import InlinePool
from agents_core.environments.process import ProcessPool
from agents_core.errors import EnvironmentFailedError, UserError
from agents_core.testing.random_actions import random_actions
from agents_core.testing.toy_config import ToyConfig
from agents_core.testing.toy_factory import ToyMaker
from sample_environments import Echo, Hosted, Introspective, impossible, lonely

MakeEnvironment = Callable[[int, int], Environment]


@contextmanager
def process_pool(
    make: MakeEnvironment, num_envs: int = 2, hosts_many: bool = False, **config: object
) -> Iterator[ProcessPool]:
    settings = ProcessConfig.model_validate({"count": 2, "step_timeout": 60, **config})
    pool = ProcessPool(WorkerPoolContext(settings, num_envs, hosts_many, make))
    try:
        yield pool
    finally:
        pool.close()


def toy(**config: object) -> ToyMaker:
    return ToyMaker(ToyConfig.model_validate(config))


def play(pool: WorkerPool, steps: int, seed: int = 3) -> Iterator[EnvironmentSteps]:
    """Steps of random play."""
    generator = np.random.default_rng(seed)
    given = pool.reset(seed)
    yield given
    for _ in range(steps):
        given = pool.step(random_actions(given, pool.behavior_specs, generator))
        yield given


def zeros(count: int) -> dict[str, Actions]:
    """Choice 0 for `count` agents of Simple1D."""
    return {"Simple1D": Actions(np.zeros((count, 0), np.float32), np.zeros((count, 1), np.int64))}


def tables(steps: EnvironmentSteps) -> dict[str, object]:
    """All arrays of the steps, as lists."""

    def as_list(value: object) -> object:
        if isinstance(value, tuple):
            return [as_list(array) for array in value]
        return value.tolist() if isinstance(value, np.ndarray) else value

    return {
        f"{name} {type(part).__name__} {field}": as_list(getattr(part, field))
        for name, behavior in steps.behaviors.items()
        for part in (behavior.decision, behavior.terminal)
        if len(part) or isinstance(part, DecisionSteps)
        for field in type(part).__dataclass_fields__
        # Whether nobody is in a group may be said in two ways.
        if len(part) or field == "agent_id"
    } | {"stats": steps.stats}


def test_ragged_agents_give_the_same_steps_as_inline() -> None:
    make = toy(id="ragged", agents=4, behaviors=("A", "B?team=1", "C"), late_after=9, groups=True, image=True)
    inline = InlinePool(WorkerPoolContext(InlineConfig(), 3, False, make))
    with process_pool(make, num_envs=3) as pool:
        # Twice, because a second reset finds memory that the first one made.
        for seed in (3, 4):
            for ours, theirs in zip(play(pool, 60, seed), play(inline, 60, seed), strict=True):
                assert tables(ours) == tables(theirs)
        assert pool.behavior_specs == inline.behavior_specs
        timers = pool.timers()
        assert (timers["worker_step"]["count"], timers["worker_reset"]["count"]) == (240, 4)
        assert timers["worker_step"]["total"] > 0


def test_a_thousand_agents_give_the_same_steps_as_inline_and_keep_their_id_array() -> None:
    make = toy(id="masked_branches", agents=512)
    inline = InlinePool(WorkerPoolContext(InlineConfig(), 2, False, make))
    with process_pool(make) as pool:
        seen = []
        for ours, theirs in zip(play(pool, 20), play(inline, 20), strict=True):
            assert tables(ours) == tables(theirs)
            seen.append(ours.behaviors["MaskedBranches"].decision.agent_id)
        assert len(seen[0]) == 1024
        assert all(ids is seen[0] for ids in seen)
        # Where all agents act all the time, nothing is copied: the rows of both workers are one piece of memory.
        reward = ours.behaviors["MaskedBranches"].decision.reward
        assert not reward.flags.owndata


def test_one_object_a_worker_hosts_its_share_with_the_seeds_of_its_numbers() -> None:
    inline = InlinePool(WorkerPoolContext(InlineConfig(), 5, True, Hosted))
    with process_pool(Hosted, num_envs=5, hosts_many=True) as pool:
        for ours, theirs in zip(play(pool, 5), play(inline, 5), strict=True):
            own, other = ours.behaviors["Walker"].decision, theirs.behaviors["Walker"].decision
            np.testing.assert_array_equal(own.observations[0], other.observations[0])
            assert len(set(own.agent_id.tolist())) == 5


def test_actions_reach_agents_of_a_behavior_that_takes_part_in_every_other_step() -> None:
    inline = InlinePool(WorkerPoolContext(InlineConfig(), 2, False, Echo))
    with process_pool(Echo) as pool:
        for ours, theirs in zip(play(pool, 12), play(inline, 12), strict=True):
            assert tables(ours) == tables(theirs)


def test_workers_are_processes_with_one_thread_that_do_not_import_torch() -> None:
    with process_pool(Introspective, num_envs=3) as pool:
        stats = pool.reset().stats
        assert len(set(stats["process"])) == 2
        assert float(os.getpid()) not in stats["process"]
        assert stats["threads"] == [float(os.environ.get("OMP_NUM_THREADS", "1"))] * 3
        assert stats["torch"] == [0.0] * 3
        assert pool.max_instances is None


def test_what_an_environment_raises_ends_the_run_with_its_real_cause() -> None:
    with process_pool(toy(id="raises", failing_env=1)) as pool:
        pool.reset(0)
        with pytest.raises(EnvironmentFailedError, match="environment 1 failed in step: ValueError: this") as failure:
            pool.step(zeros(2))
        assert "in _fail" in str(failure.value.__cause__)
        assert "ValueError: this environment fails on purpose" in str(failure.value.__cause__)
        with pytest.raises(RuntimeError, match="can only be closed"):
            pool.step(zeros(2))


def test_a_number_that_is_not_finite_is_named_with_its_environment() -> None:
    with process_pool(toy(id="nan_reward", failing_env=1, agents=3), count=1) as pool:
        pool.reset(0)
        with pytest.raises(EnvironmentFailedError, match="environment 1, behavior 'Simple1D', agent 2: reward is nan"):
            pool.step(zeros(6))


@pytest.mark.parametrize(
    ("name", "reason"),
    [("exits", "ended with exit code 7"), ("killed", "was killed by SIGKILL"), ("hangs", "did not answer within 1 s")],
)
def test_a_lost_worker_is_replaced_until_it_was_too_often(
    name: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    make = toy(id=name, failing_env=2, at_step=3, agents=2)
    with process_pool(make, num_envs=3, max_restarts=1, step_timeout=1) as pool:
        history = [pool.reset(0), *(pool.step(zeros(6)) for _ in range(2))]
        before = tables(history[-1])
        ids = history[-1].behaviors["Simple1D"].decision.agent_id
        with caplog.at_level(logging.WARNING):
            lost = pool.step(zeros(6)).behaviors["Simple1D"]
        assert [record.getMessage() for record in caplog.records] == [
            f"worker 1 (environments 1 to 2) {reason}{' (environment.workers.step_timeout)' * (name == 'hangs')}; "
            "starting it again (1 of 1)"
        ]
        # Both environments of the worker are lost, with what their agents saw last.
        assert lost.terminal.agent_id.tolist() == [1, 4, 2, 5]
        assert lost.terminal.truncated.all()
        assert lost.terminal.reward.tolist() == [0, 0, 0, 0]
        seen = before["Simple1D DecisionSteps observations"]
        assert isinstance(seen, list)
        assert lost.terminal.observations[0].tolist() == seen[0][2:]
        assert lost.decision.agent_id is ids
        assert lost.decision.reward.tolist() == pytest.approx([-0.001, -0.001, 0, 0, 0, 0])
        for _ in range(2):
            pool.step(zeros(6))
        with pytest.raises(EnvironmentFailedError, match=rf"worker 1 \(environments 1 to 2\) {reason}.*max_restarts"):
            pool.step(zeros(6))


def test_a_reset_replaces_a_lost_worker_too_without_ends() -> None:
    with process_pool(toy(id="simple1d")) as pool:
        started = tables(pool.reset(5))
        pool.step(zeros(2))
        victim = pool._workers[1]._process
        assert victim is not None
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        restarted = pool.reset(5)
        assert len(restarted.behaviors["Simple1D"].terminal) == 0
        assert tables(restarted)["Simple1D DecisionSteps agent_id"] == started["Simple1D DecisionSteps agent_id"]
        assert tables(pool.reset(5)) == started, "the seed decides again, whatever happened before"


def test_a_lost_worker_that_hosted_several_behaviors_ends_all_their_agents() -> None:
    make = toy(id="ragged", agents=5, behaviors=("A", "B"), groups=True)
    with process_pool(make, num_envs=1, count=1) as pool:
        living: dict[tuple[str, int], list[float]] = {}
        generator = np.random.default_rng(0)
        given = pool.reset(1)
        for turn in range(40):
            for name, behavior in given.behaviors.items():
                for agent in behavior.terminal.agent_id.tolist():
                    living.pop((name, agent), None)
                decision = behavior.decision
                for agent, seen in zip(decision.agent_id.tolist(), decision.observations[0].tolist(), strict=True):
                    living[name, agent] = seen
            if turn == 39:
                victim = pool._workers[0]._process
                assert victim is not None
                assert victim.pid is not None
                os.kill(victim.pid, signal.SIGKILL)
                victim.join()
            given = pool.step(random_actions(given, pool.behavior_specs, generator))
        ended = {
            (name, agent): seen
            for name, behavior in given.behaviors.items()
            for agent, seen in zip(
                behavior.terminal.agent_id.tolist(), behavior.terminal.observations[0].tolist(), strict=True
            )
        }
        assert len(living) > 3
        assert ended == living


def test_close_ends_workers_that_hang_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with process_pool(toy(id="hangs_in_close")) as pool:
        pool.reset(0)
        processes = [worker._process for worker in pool._workers]
    assert [process is not None and process.exitcode is not None for process in processes] == [True, True]
    assert "worker 0 (environment 0) did not answer within 3 s while it was being closed" in caplog.text
    pool.close()
    with pytest.raises(RuntimeError, match="can only be closed"):
        pool.reset()


def test_what_goes_wrong_while_closing_is_said() -> None:
    with pytest.raises(EnvironmentFailedError, match="environment 1 failed in close: ValueError"):  # noqa: SIM117
        with process_pool(toy(id="raises_in_close", failing_env=1)) as pool:
            pool.reset(0)


def test_environments_that_cannot_be_made_are_said_once() -> None:
    with pytest.raises(EnvironmentFailedError, match="environment 0 failed while it was made: FileNotFoundError: no"):
        ProcessPool(WorkerPoolContext(ProcessConfig(count=2), 2, False, impossible))
    with pytest.raises(UserError, match=r"environment\.num_envs is 2, but only 1 of this environment can be open"):
        ProcessPool(WorkerPoolContext(ProcessConfig(count=2), 2, False, lonely))


def test_an_environment_that_cannot_be_sent_is_refused() -> None:
    def local(*_: int) -> Environment:
        raise AssertionError

    with pytest.raises(UserError, match=r"cannot be sent to worker .*use environment\.workers: {type: inline}"):
        ProcessPool(WorkerPoolContext(ProcessConfig(count=1), 1, False, local))


def test_behaviors_without_agents_are_left_out() -> None:
    with process_pool(toy(id="ragged", agents=1, behaviors=("A", "B")), num_envs=1, count=1) as pool:
        assert all(
            len(behavior.decision) or len(behavior.terminal)
            for steps in play(pool, 40)
            for behavior in steps.behaviors.values()
            if isinstance(behavior, BehaviorSteps)
        )
