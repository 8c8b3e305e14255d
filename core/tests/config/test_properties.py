"""Any valid experiment survives a round trip; any damaged file gives mistakes, never a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents_core.config import ConfigError, Experiment, load_experiment
from agents_core.config.reader import read_text
from agents_core.registry import Registry, load_registry
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SETTINGS = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8) | st.sampled_from(["no", "010", "1e6"])
NUMBERS = st.floats(0.001, 1000)
SCHEDULES = NUMBERS | st.fixed_dictionaries(
    {"initial": NUMBERS}, optional={"schedule": st.just("linear"), "final": NUMBERS, "floor": NUMBERS}
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
LEARNERS = st.fixed_dictionaries(
    {"type": st.sampled_from(["learner", "agents-fake:learner"])},
    optional={
        "batch_size": st.integers(1, 32),
        "buffer_size": st.integers(32, 99),
        "learning_rate": SCHEDULES,
        "beta": SCHEDULES,
        "target_kl": st.none() | NUMBERS,
        "clip": st.booleans(),
        "mode": st.sampled_from(["fast", "slow"]),
        "layers": st.lists(st.integers(1, 99), max_size=3),
        "limits": st.dictionaries(TEXT, NUMBERS, max_size=3),
        "memory": st.none() | st.fixed_dictionaries({"size": st.sampled_from([2, 8])}),
    },
)
TRAINERS = LEARNERS | st.fixed_dictionaries({"type": st.just("other")}, optional={"tau": st.floats(0.001, 1)})
SIGNALS = st.dictionaries(
    st.sampled_from(["extrinsic", "novelty", "agents-core:extrinsic"]),
    st.fixed_dictionaries({}, optional={"strength": SCHEDULES, "gamma": st.floats(0, 1)}),
    min_size=1,
    max_size=2,
).filter(lambda signals: not {"extrinsic", "agents-core:extrinsic"} <= set(signals))
SCOPE: dict[str, Any] = {
    "max_steps": st.integers(1, 10**7),
    "summary_freq": st.integers(1, 999),
    "network": st.fixed_dictionaries({}, optional={"hidden_units": st.integers(1, 99), "normalize": st.booleans()}),
    "reward_signals": SIGNALS,
}
COMPLETE = st.fixed_dictionaries({"trainer": TRAINERS}, optional=SCOPE)
PARTIAL = st.fixed_dictionaries({}, optional={"trainer": TRAINERS, **SCOPE})
WORLDS = st.fixed_dictionaries(
    {"type": st.just("world"), "id": TEXT},
    optional={
        "title": TEXT,
        "level": st.integers() | TEXT.filter(str.isalpha),
        "kwargs": st.dictionaries(TEXT, ANYTHING, max_size=3),
        "imports": st.lists(TEXT, max_size=2),
        "num_envs": st.integers(1, 99),
    },
)
EXPERIMENTS = st.fixed_dictionaries(
    {
        "environment": WORLDS,
        "behaviors": st.builds(
            lambda common, named: {**named, "*": common}, COMPLETE, st.dictionaries(TEXT, PARTIAL, max_size=2)
        ),
    },
    optional={
        "seed": st.integers(0, 2**32),
        "evaluation": st.fixed_dictionaries({}, optional={"interval": st.none() | st.integers(0, 99)}),
        "stats": st.fixed_dictionaries({}, optional={"board": st.just({}), "console": st.just({})}),
    },
)


@pytest.fixture(scope="module")
def shared_registry() -> Registry:
    return load_registry()


@SETTINGS
@given(EXPERIMENTS)
def test_any_experiment_feeds_back_to_an_equal_one(
    shared_registry: Registry, tmp_path: Path, content: dict[str, Any]
) -> None:
    try:
        experiment = load_experiment(content, shared_registry)
    except ConfigError as error:
        # What a named behavior merges from two valid ones may be invalid: a batch that is too large for its buffer.
        assert all("must not be" in mistake.message for mistake in error.mistakes)  # noqa: PT017
        return
    resolved = experiment.to_dict()
    again = load_experiment(resolved, shared_registry)
    assert again == experiment
    assert again.to_dict() == resolved
    file = tmp_path / "config.yaml"
    file.write_bytes(experiment.to_yaml().encode())
    assert load_experiment(file, shared_registry) == experiment


VALID = """\
seed: 3
environment: &world
  type: world
  id: "1e6"
  kwargs: {mode: no, rate: 3e-4, list: [1, "2", [x]]}
  workers: {type: inline}
behaviors:
  "*":
    max_steps: 1e6
    network: {hidden_units: 32, activation: relu}
    trainer: {type: learner, learning_rate: {initial: 1e-3}, memory: {size: 8}}
    reward_signals: {extrinsic: {}, novelty: {strength: 0.5}}
  Blue: {trainer: {memory: null, clip: no}, reward_signals: {extrinsic: null}}
stats: {console: {}}
checkpoints:
  interval: 1000
torch: {threads: 2, device: "cuda:1"}
"""
SNIPPETS = st.sampled_from(
    [
        *"\t\n {}[]:,#&*!|>'\"%@`-?~\\\x00\x85\ufeff",
        *("<<: *world", "*world", "&a ", "- ", "null", "!!python/name:os ", "1e999", "type: ", '"\\U99999999"'),
        *("---\n", "...\n", "? ", "0" * 5000, "{a: 1}", "[[[[[[", "é", "\ud83d"),
    ]
)
EDITS = st.lists(
    st.tuples(st.integers(0, len(VALID)), st.integers(0, 12), SNIPPETS | st.text(max_size=3)), min_size=1, max_size=4
)


def damaged(edits: list[tuple[int, int, str]]) -> str:
    text = VALID
    for start, length, snippet in edits:
        text = text[:start] + snippet + text[start + length :]
    return text


@settings(SETTINGS, max_examples=200)
@given(EDITS)
def test_a_damaged_file_gives_mistakes_or_an_experiment(
    shared_registry: Registry, tmp_path: Path, edits: list[tuple[int, int, str]]
) -> None:
    file = tmp_path / "damaged.yaml"
    file.write_bytes(damaged(edits).encode("utf-8", "surrogatepass"))
    try:
        assert isinstance(load_experiment(file, shared_registry), Experiment)
    except ConfigError as error:
        assert error.mistakes  # noqa: PT017
        assert all(line.startswith(str(file)) for line in str(error).splitlines())  # noqa: PT017


@settings(SETTINGS, max_examples=200)
@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda data: data.decode("latin-1")))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_text(text, "f")
    except ConfigError as error:
        assert error.mistakes  # noqa: PT017


@settings(SETTINGS, max_examples=100)
@given(
    st.text(max_size=30)
    | st.builds(
        lambda path, value: f"{path}={value}",
        st.sampled_from(
            ["seed", "behaviors.*.trainer", "behaviors.Blue", "environment.kwargs.a", "stats", "behaviors"]
        ),
        SNIPPETS | st.text(max_size=5),
    )
)
def test_any_override_is_applied_or_refused(shared_registry: Registry, tmp_path: Path, override: str) -> None:
    file = tmp_path / "valid.yaml"
    file.write_text(VALID, encoding="utf-8")
    try:
        assert isinstance(load_experiment(file, shared_registry, overrides=[override]), Experiment)
    except ConfigError as error:
        assert error.mistakes  # noqa: PT017
