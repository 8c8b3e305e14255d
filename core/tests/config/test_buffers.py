"""`trainer.buffer`: chosen where a trainer samples from a buffer, unknown elsewhere."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from agents_core.config import ConfigError, Experiment, load_experiment
from agents_core.config.editor_schema import export
from agents_core.config.template import write_template
from agents_core.registry import Registry


def described(trainer: dict[str, Any], **named: dict[str, Any]) -> dict[str, Any]:
    return {
        "environment": {"type": "world", "id": "home"},
        "behaviors": {"*": {"trainer": trainer}, **{name: {"trainer": own} for name, own in named.items()}},
    }


def load(registry: Registry, trainer: dict[str, Any], *overrides: str, **named: dict[str, Any]) -> Experiment:
    return load_experiment(described(trainer, **named), registry, overrides=overrides)


def refused(registry: Registry, trainer: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as error:
        load(registry, trainer)
    return str(error.value)


def test_a_trainer_that_samples_gets_the_buffer_it_declares_with_its_defaults(registry: Registry) -> None:
    experiment = load(registry, {"type": "sampler"})
    buffer = experiment.behaviors["*"].buffer
    assert buffer is not None
    assert (buffer.type, buffer.options()) == ("ring", {"slots": 100})
    trainer = experiment.to_dict()["behaviors"]["*"]["trainer"]
    assert trainer == {"type": "sampler", "tau": 0.005, "buffer": {"type": "ring", "slots": 100}}
    assert load_experiment(experiment.to_dict(), registry).to_dict() == experiment.to_dict()


def test_an_experiment_chooses_another_or_sets_its_options(registry: Registry) -> None:
    chosen = load(registry, {"type": "sampler", "buffer": {"type": "heap"}}).behaviors["*"].buffer
    assert chosen is not None
    assert chosen.type == "heap"
    for trainer, override in (
        ({"type": "sampler", "buffer": {"slots": 7}}, "seed=1"),
        ({"type": "sampler"}, "behaviors.*.trainer.buffer.slots=7"),
    ):
        sized = load(registry, trainer, override).behaviors["*"].buffer
        assert sized is not None
        assert (sized.type, sized.options()) == ("ring", {"slots": 7})


def test_a_named_behavior_takes_over_the_buffer_of_all(registry: Registry) -> None:
    experiment = load(registry, {"type": "sampler", "buffer": {"slots": 7}}, Team={"tau": 0.1})
    buffer = experiment.behavior("Team").buffer
    assert buffer is not None
    assert buffer.options() == {"slots": 7}


def test_other_trainers_have_no_such_option(registry: Registry) -> None:
    assert load(registry, {"type": "other"}).behaviors["*"].buffer is None
    assert "trainer.buffer: unknown key" in refused(registry, {"type": "other", "buffer": {"type": "ring"}})


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        ({"slots": 0}, "trainer.buffer.slots: "),
        ({"slot": 3}, "did you mean 'slots'?"),
        ({"type": "rings"}, "Did you mean 'ring'"),
        ("ring", "trainer.buffer: found 'ring', expected a section"),
    ],
)
def test_mistakes_in_it_are_named(registry: Registry, buffer: object, message: str) -> None:
    assert message in refused(registry, {"type": "sampler", "buffer": buffer})


def test_the_schema_knows_the_buffers_of_trainers_that_sample(registry: Registry) -> None:
    schema = export([part for part in registry.components() if part.kind != "encoder"], [])
    judge = jsonschema.Draft202012Validator(schema)
    for buffer in ({"type": "heap"}, {"slots": 3}, {"type": "ring", "slots": 3}):
        assert judge.is_valid(described({"type": "sampler", "buffer": buffer}))
    assert not judge.is_valid(described({"type": "sampler", "buffer": {"slots": "many"}}))
    assert not judge.is_valid(described({"type": "other", "buffer": {"type": "ring"}}))


def test_a_template_writes_the_buffer_with_its_meaning(registry: Registry) -> None:
    text = write_template("sampler", registry)
    assert "slots: 100  # Transitions that are kept (a whole number of at least 1)" in text
