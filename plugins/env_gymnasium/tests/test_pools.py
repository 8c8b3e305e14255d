"""The adapter behind core's worker pools."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from agents_core.contracts.worker_pool import WorkerPool, WorkerPoolContext
from agents_core.environments.config import InlineConfig, ProcessConfig
from agents_core.environments.inline import InlinePool
from agents_core.environments.process import ProcessPool
from agents_core.errors import EnvironmentFailedError
from agents_env_gymnasium.config import GymnasiumConfig
from gymnasium_toys import act, open_numbered, parts


def pool(workers: str, count: int, **config: Any) -> WorkerPool:
    make = partial(open_numbered, GymnasiumConfig(**config))
    if workers == "inline":
        return InlinePool(WorkerPoolContext(InlineConfig(), count, True, make))
    return ProcessPool(WorkerPoolContext(ProcessConfig(count=2), count, True, make))


def run(environments: WorkerPool, steps: int) -> list[Any]:
    seen = []
    try:
        decision, terminal = parts(environments.reset(seed=3))
        for step in range(steps + 1):
            seen.append(
                [array.tolist() for array in (decision.observations[0], decision.reward, terminal.observations[0])]
            )
            if step < steps:
                decision, terminal = parts(act(environments, discrete=np.arange(len(decision))[:, None] % 2))
    finally:
        environments.close()
    return seen


@pytest.mark.parametrize("config", [{"entry_point": "gymnasium_toys:Random"}, {"id": "Acrobot-v1"}])
def test_a_run_is_the_same_in_one_process_and_in_several(config: dict[str, Any]) -> None:
    inline, processes = (run(pool(workers, 4, **config), 7) for workers in ("inline", "process"))
    assert inline == processes


def test_the_agents_of_an_inline_pool_stay_the_same_array() -> None:
    environments = pool("inline", 3, entry_point="gymnasium_toys:Counting")
    first, _ = parts(environments.reset(seed=0))
    assert all(parts(act(environments, discrete=[[0]] * 3))[0].agent_id is first.agent_id for _ in range(5))


def test_a_number_that_is_not_finite_is_named_with_its_environment() -> None:
    environments = pool("inline", 2, entry_point="gymnasium_toys:Counting", kwargs={"lengths": [1, float("nan")]})
    environments.reset(seed=0)
    environment = environments._group._hosts[0].environment  # type: ignore[attr-defined]
    environment._envs[1].unwrapped._observation = lambda: np.array([0.0, np.nan])
    with pytest.raises(EnvironmentFailedError, match=r"environment.*1.*nan"):
        act(environments, discrete=[[0], [0]])
