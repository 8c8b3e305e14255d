"""How `"*"`, named behaviors and `null` come together."""

from __future__ import annotations

from typing import Any

import pytest
from agents_core.config import ConfigError, Experiment, load_experiment
from agents_core.config.document import Position, from_python, plain
from agents_core.config.merging import fill_gaps, merge
from agents_core.registry import Registry
from hypothesis import given
from hypothesis import strategies as st

HERE = Position("here")
WORLD = {"type": "world", "id": "home"}


def merged(base: object, over: object) -> object:
    return plain(merge(from_python(base, HERE), from_python(over, HERE)))


def load(registry: Registry, **behaviors: Any) -> Experiment:
    return load_experiment(
        {"environment": WORLD, "behaviors": {name.replace("every", "*"): entry for name, entry in behaviors.items()}},
        registry,
    )


def options(experiment: Experiment, behavior: str) -> Any:
    return experiment.behaviors[behavior].trainer.config


@pytest.mark.parametrize(
    ("base", "over", "expected"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": 4}}, {"a": 1, "b": {"c": 4, "d": 3}}),
        ({"a": {"type": "x", "b": 1}}, {"a": {"c": 2}}, {"a": {"type": "x", "b": 1, "c": 2}}),
        ({"a": {"type": "x", "b": 1}}, {"a": {"type": "x", "c": 2}}, {"a": {"type": "x", "b": 1, "c": 2}}),
        ({"a": {"type": "x", "b": 1}}, {"a": {"type": "y", "c": 2}}, {"a": {"type": "y", "c": 2}}),
        ({"a": {"b": 1}}, {"a": {"type": "y"}}, {"a": {"b": 1, "type": "y"}}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": [1, 2]}, {"a": []}, {"a": []}),
        ({"a": True}, {"a": False}, {"a": False}),
        ({"a": 5}, {"a": 0}, {"a": 0}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": 1}}),
        ({"a": {"b": 1}}, {"a": 3}, {"a": 3}),
    ],
)
def test_tables_merge_key_by_key_and_the_rest_replaces(base: object, over: object, expected: object) -> None:
    assert merged(base, over) == expected


TREES = st.recursive(
    st.integers(0, 3),
    lambda inner: st.dictionaries(st.sampled_from(["a", "b", "type"]), inner, max_size=3),
    max_leaves=12,
).filter(lambda value: isinstance(value, dict))


@given(TREES, TREES)
def test_a_resolved_table_with_its_gaps_filled_survives_merging(common: dict[str, Any], own: dict[str, Any]) -> None:
    if "type" in common and "type" in own and common["type"] != own["type"]:
        own = {**own, "type": common["type"]}  # entries themselves have no type, only what is in them
    assert merged(common, fill_gaps(common, own)) == own


def test_a_named_behavior_takes_over_what_it_does_not_say(registry: Registry) -> None:
    experiment = load(
        registry,
        every={"max_steps": 7, "time_horizon": 3, "trainer": {"type": "learner", "batch_size": 8, "clip": False}},
        Goalie={"max_steps": 9, "trainer": {"batch_size": 16}},
    )
    goalie = experiment.behavior("Goalie")
    assert (goalie.max_steps, goalie.time_horizon) == (9, 3)
    assert (options(experiment, "Goalie").batch_size, options(experiment, "Goalie").clip) == (16, False)
    assert options(experiment, "*").batch_size == 8


def test_another_trainer_type_replaces_the_whole_block(registry: Registry) -> None:
    experiment = load(
        registry, every={"trainer": {"type": "learner", "batch_size": 8}}, Goalie={"trainer": {"type": "other"}}
    )
    assert experiment.behaviors["Goalie"].trainer.type == "other"
    assert options(experiment, "Goalie").tau == 0.005


def test_reward_signals_that_are_given_replace_the_default(registry: Registry) -> None:
    trainer = {"type": "learner"}
    assert list(load(registry, every={"trainer": trainer}).behavior("x").reward_signals) == ["extrinsic"]
    given_ = load(registry, every={"trainer": trainer, "reward_signals": {"novelty": {}}})
    assert list(given_.behavior("x").reward_signals) == ["novelty"]


def test_reward_signals_of_a_named_behavior_join_those_of_all_and_null_removes(registry: Registry) -> None:
    experiment = load(
        registry,
        every={"trainer": {"type": "learner"}, "reward_signals": {"extrinsic": {"gamma": 0.9}, "novelty": {}}},
        A={"reward_signals": {"novelty": {"strength": 0.5}}},
        B={"reward_signals": {"novelty": None}},
        C={"reward_signals": None},
    )
    signals = {name: behavior.reward_signals for name, behavior in experiment.behaviors.items()}
    assert list(signals["A"]) == ["extrinsic", "novelty"]
    assert signals["A"]["extrinsic"].config.gamma == 0.9  # type: ignore[attr-defined]
    assert signals["A"]["novelty"].config.strength.initial == 0.5  # type: ignore[attr-defined]
    assert list(signals["B"]) == ["extrinsic"]
    assert signals["C"]["extrinsic"].config.gamma == 0.99  # type: ignore[attr-defined]
    assert load_experiment(experiment.to_dict(), registry) == experiment


def test_null_gives_a_value_its_default_unless_its_field_takes_null(registry: Registry) -> None:
    every = {"trainer": {"type": "learner", "batch_size": 8, "target_kl": 0.5, "memory": {"size": 4}}}
    experiment = load(registry, every=every, A={"trainer": {"batch_size": None, "target_kl": None, "memory": None}})
    config = options(experiment, "A")
    assert (config.batch_size, config.target_kl, config.memory) == (32, None, None)
    assert load_experiment(experiment.to_dict(), registry) == experiment


def test_null_where_there_is_nothing_to_remove_is_a_mistake(registry: Registry) -> None:
    with pytest.raises(ConfigError, match="batch_size: found nothing, expected a whole number"):
        load(registry, every={"trainer": {"type": "learner", "batch_size": None}})


def test_false_zero_and_empty_lists_are_values(registry: Registry) -> None:
    trainer = {"type": "learner", "clip": False, "layers": [], "beta": 0}
    experiment = load(registry, every={"trainer": trainer, "reward_signals": {"extrinsic": {"strength": 0}}})
    config = options(experiment, "*")
    assert (config.clip, config.layers, config.beta.initial) == (False, [], 0)
    assert experiment.behavior("x").reward_signals["extrinsic"].config.strength.is_zero  # type: ignore[attr-defined]


def test_every_entry_may_leave_the_trainer_to_the_named_ones(registry: Registry) -> None:
    experiment = load(registry, every={"max_steps": 5}, A={"trainer": {"type": "learner"}})
    assert list(experiment.behaviors) == ["A"]
    assert experiment.behavior("A").max_steps == 5


def test_a_name_may_be_qualified(registry: Registry) -> None:
    experiment = load(
        registry,
        every={
            "trainer": {"type": "agents-fake:learner"},
            "reward_signals": {"agents-fake:novelty": {"gamma": 0.5}, "second": {"type": "novelty"}},
        },
    )
    behavior = experiment.behavior("x")
    assert behavior.trainer.type == "agents-fake:learner"
    assert behavior.trainer.component.name == "learner"
    assert {name: signal.type for name, signal in behavior.reward_signals.items()} == {
        "novelty": "agents-fake:novelty",
        "second": "novelty",
    }
    assert load_experiment(experiment.to_dict(), registry) == experiment


def test_two_sections_for_one_name_are_refused(registry: Registry) -> None:
    signals: dict[str, Any] = {"novelty": {}, "agents-fake:novelty": {}}
    with pytest.raises(ConfigError, match="there are two sections for 'novelty'"):
        load(registry, every={"trainer": {"type": "learner"}, "reward_signals": signals})
