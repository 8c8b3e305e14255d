"""Merging agrees with a naive table of agents, whatever the environments return."""

from __future__ import annotations

import numpy as np
from agents_core.contracts.environment import Actions, BehaviorSteps, DecisionSteps, EnvironmentSteps, TerminalSteps
from agents_core.environments.merging import Merger
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from hypothesis import given
from hypothesis import strategies as st

SPECS = {
    "A": BehaviorSpec((ObservationSpec("x", (2,)),), ActionSpec(discrete_branches=(2, 3))),
    "B?team=1": BehaviorSpec(
        (ObservationSpec("x", ()), ObservationSpec("pixels", (2, 1, 1), "uint8", "image")),
        ActionSpec(continuous_size=2),
    ),
}
Row = tuple[object, ...]


@st.composite
def environment_steps(draw: st.DrawFn) -> EnvironmentSteps:
    """Any legal steps of one environment."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    behaviors = {}
    for name in draw(st.permutations(list(SPECS))):
        if draw(st.booleans()):
            spec = SPECS[name]
            masked, grouped = draw(st.booleans()), draw(st.booleans())
            acting, ending = draw(st.integers(0, 4)), draw(st.integers(0, 3))
            behaviors[name] = BehaviorSteps(
                DecisionSteps(
                    *_common(acting, spec, generator),
                    generator.random((acting, spec.action.mask_size)) < 0.5 if masked else None,
                    *_groups(acting, grouped, generator),
                ),
                TerminalSteps(
                    *_common(ending, spec, generator),
                    generator.random(ending) < 0.5,
                    *_groups(ending, grouped, generator),
                ),
            )
    return EnvironmentSteps(behaviors, {"stat": generator.random(draw(st.integers(0, 2))).tolist()})


def _common(
    count: int, spec: BehaviorSpec, generator: np.random.Generator
) -> tuple[np.ndarray, tuple[np.ndarray, ...], np.ndarray]:
    observations = tuple(
        generator.integers(0, 255, (count, *observation.shape)).astype(observation.dtype)
        for observation in spec.observations
    )
    ids = generator.choice(50, count, replace=False).astype(np.int64)
    return ids, observations, generator.random(count).astype(np.float32)


def _groups(count: int, present: bool, generator: np.random.Generator) -> tuple[np.ndarray | None, np.ndarray | None]:
    if not present:
        return None, None
    return generator.integers(-1, 3, count), generator.random(count).astype(np.float32)


def naive_rows(steps: list[EnvironmentSteps], name: str, part: str) -> list[Row]:
    """One tuple an agent, the ids made unique as documented."""
    rows: list[Row] = []
    for index, environment in enumerate(steps):
        if name not in environment.behaviors:
            continue
        table = getattr(environment.behaviors[name], part)
        for row in range(len(table.agent_id)):
            group = -1 if table.group_id is None else int(table.group_id[row])
            rows.append(
                (
                    int(table.agent_id[row]) * len(steps) + index,
                    *(observation[row].tolist() for observation in table.observations),
                    float(table.reward[row]),
                    group if group < 0 else group * len(steps) + index,
                    0.0 if table.group_reward is None else float(table.group_reward[row]),
                    _flags(table, row, SPECS[name]),
                )
            )
    return rows


def _flags(table: DecisionSteps | TerminalSteps, row: int, spec: BehaviorSpec) -> object:
    if isinstance(table, TerminalSteps):
        return bool(table.truncated[row])
    return [True] * spec.action.mask_size if table.action_mask is None else table.action_mask[row].tolist()


def merged_rows(merged: EnvironmentSteps, name: str, part: str) -> list[Row]:
    """The merged table in the form of `naive_rows`."""
    return naive_rows([EnvironmentSteps({name: merged.behaviors[name]})], name, part)


@given(st.lists(environment_steps(), min_size=1, max_size=4))
def test_merged_rows_are_those_of_all_environments_one_after_another(steps: list[EnvironmentSteps]) -> None:
    merged = Merger(range(len(steps)), len(steps)).merge(steps, SPECS)
    assert set(merged.behaviors) == {name for step in steps for name in step.behaviors}
    for name in merged.behaviors:
        for part in ("decision", "terminal"):
            assert merged_rows(merged, name, part) == naive_rows(steps, name, part)
    assert merged.stats.get("stat", []) == [value for step in steps for value in step.stats["stat"]]


@given(st.lists(environment_steps(), min_size=2, max_size=4), st.integers(1, 3))
def test_merging_in_two_stages_gives_the_same_as_in_one(steps: list[EnvironmentSteps], cut: int) -> None:
    cut = min(cut, len(steps) - 1)
    total = len(steps)
    whole = Merger(range(total), total).merge(steps, SPECS)
    halves = [
        Merger(range(cut), total).merge(steps[:cut], SPECS),
        Merger(range(cut, total), total).merge(steps[cut:], SPECS),
    ]
    twice = Merger(range(2), 1).merge(halves, SPECS)
    assert list(twice.behaviors) == list(whole.behaviors)
    for name in whole.behaviors:
        for part in ("decision", "terminal"):
            assert merged_rows(twice, name, part) == merged_rows(whole, name, part)


@given(st.lists(environment_steps(), min_size=1, max_size=4))
def test_split_actions_reach_the_agents_they_are_for(steps: list[EnvironmentSteps]) -> None:
    merger = Merger(range(len(steps)), len(steps))
    merged = merger.merge(steps, SPECS)
    actions = {}
    for name, behavior in merged.behaviors.items():
        agent_id, spec = behavior.decision.agent_id, SPECS[name].action
        continuous = np.repeat(agent_id[:, None], spec.continuous_size, axis=1).astype(np.float32)
        discrete = np.repeat(agent_id[:, None], len(spec.discrete_branches), axis=1)
        actions[name] = Actions(continuous, discrete)
    for index, (own, environment) in enumerate(zip(merger.split(actions), steps, strict=True)):
        deciding = {name: part.decision for name, part in environment.behaviors.items() if len(part.decision)}
        assert set(own) == set(deciding)
        for name, decision in deciding.items():
            expected = decision.agent_id * len(steps) + index
            for column in (*own[name].continuous.T, *own[name].discrete.T):
                np.testing.assert_array_equal(column, expected)


@given(st.lists(environment_steps(), min_size=1, max_size=3))
def test_equal_agents_keep_their_id_array_and_others_do_not(steps: list[EnvironmentSteps]) -> None:
    merger = Merger(range(len(steps)), len(steps))
    first = merger.merge(steps, SPECS)
    copies = [
        EnvironmentSteps(
            {
                name: BehaviorSteps(
                    DecisionSteps(part.decision.agent_id.copy(), part.decision.observations, part.decision.reward),
                    part.terminal,
                )
                for name, part in step.behaviors.items()
            }
        )
        for step in steps
    ]
    second = merger.merge(copies, SPECS)
    for name, behavior in first.behaviors.items():
        assert second.behaviors[name].decision.agent_id is behavior.decision.agent_id
