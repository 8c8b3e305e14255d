"""The exported JSON Schema takes what the loader takes, and refuses what it can see to be wrong."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest
import yaml
from agents_core.config import load_experiment
from agents_core.config.editor_schema import export
from agents_core.config.json_schema import compose
from agents_core.errors import UserError
from agents_core.registry import Registry

VALID = """\
seed: 3
environment: {type: world, id: home, level: 2, kwargs: {a: [1, no]}, num_envs: 4, workers: {type: process}}
behaviors:
  "*":
    max_steps: 100_000
    summary_freq: 1e4
    network: {hidden_units: 64, normalize: true}
    trainer: {type: learner, learning_rate: 3e-4, beta: {initial: 1e-3, final: 0}, memory: {size: 8}}
    reward_signals: {extrinsic: {gamma: 0.99}, novelty: {strength: 0.02}}
  Blue: {max_steps: null, trainer: {clip: false, memory: null}, reward_signals: {novelty: null}}
  Red: {trainer: {type: "agents-fake:other"}, reward_signals: {"agents-fake:novelty": {}, second: {type: novelty}}}
stats: {console: {}, board: {}}
checkpoints: {interval: 50_000}
evaluation: {interval: null}
torch: {device: cpu}
"""


@pytest.fixture
def schema(registry: Registry) -> Any:
    problems: list[str] = []
    exported = export(registry.components(), problems)
    assert problems == []
    return exported


def errors(schema: Any, content: Any) -> list[str]:
    found = jsonschema.Draft202012Validator(schema).iter_errors(content)
    return [".".join(map(str, error.absolute_path)) for error in found]


def changed(path: str, value: object) -> Any:
    """The valid experiment with one value set."""
    content = yaml.safe_load(VALID)
    *parents, last = path.split("/")
    inner = content
    for key in parents:
        inner = inner[key]
    inner[last] = value
    return content


def test_it_is_a_valid_schema_of_its_dialect(schema: Any) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


def test_a_valid_experiment_passes_as_any_yaml_reader_reads_it(schema: Any) -> None:
    content = yaml.safe_load(VALID)
    assert content["behaviors"]["*"]["trainer"]["learning_rate"] == "3e-4"  # YAML 1.1 takes it for text
    assert errors(schema, content) == []
    content["behaviors"]["*"]["max_steps"] = "100_000"  # as YAML 1.2 does with this one
    assert errors(schema, content) == []


def test_a_resolved_experiment_passes(schema: Any, registry: Registry) -> None:
    content = yaml.safe_load(VALID)
    assert errors(schema, load_experiment(content, registry).to_dict()) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("sed", 1),
        ("seed", -1),
        ("seed", "x"),
        ("environment/type", "wrld"),
        ("environment/num_env", 2),
        ("environment/workers", {"type": "threads"}),
        ("behaviors", {}),
        ("behaviors/*/max_step", 5),
        ("behaviors/*/max_steps", 0),
        ("behaviors/*/max_steps", "many"),
        ("behaviors/*/network/activation", "tanhh"),
        ("behaviors/*/trainer/type", "lerner"),
        ("behaviors/*/trainer/batch_sise", 8),
        ("behaviors/*/trainer/learning_rate", 0),
        ("behaviors/*/trainer/beta/flor", 0),
        ("behaviors/Blue/trainer/clip", 3),
        ("behaviors/*/reward_signals/noveltie", {}),
        ("behaviors/*/reward_signals/novelty/gamma", 2),
        ("behaviors/*/reward_signals/extrinsic/encoding_size", 8),
        ("stats/bord", {}),
        ("checkpoints/keep", 0),
    ],
)
def test_a_mistake_is_found_where_it_is(path: str, value: object, schema: Any) -> None:
    places = errors(schema, changed(path, value))
    assert places
    assert all(path.replace("/", ".").startswith(place) for place in places)


LOCAL = """\
plugins: [mine.py]
environment: {type: mine, anything: 1}
behaviors:
  "*":
    trainer: {type: mine, pace: 1}
    reward_signals: {mine: {strength: 0.5}, novelty: {gamma: 0.5}}
  Blue: {trainer: {pace: 2}, reward_signals: {mine: null}}
stats: {mine: {}}
"""


def test_what_local_plugins_bring_passes_only_where_they_are_named(schema: Any) -> None:
    content = yaml.safe_load(LOCAL)
    assert errors(schema, content) == []
    del content["plugins"]
    places = set(errors(schema, content))
    assert {"environment", "behaviors.*.trainer", "behaviors.*.reward_signals", "stats.mine"} <= places


def test_beside_local_plugins_the_sections_of_installed_ones_are_checked(schema: Any) -> None:
    content = {**changed("behaviors/*/trainer/batch_sise", 8), "plugins": ["mine.py"]}
    assert errors(schema, content) == ["behaviors.*.trainer"]


def test_an_environment_needs_its_type_and_what_its_model_requires(schema: Any) -> None:
    for key in ("type", "id"):
        content = copy.deepcopy(yaml.safe_load(VALID))
        del content["environment"][key]
        assert set(errors(schema, content)) == {"environment"}


def test_every_option_has_a_description_and_a_readable_default(registry: Registry) -> None:
    defs = compose(registry.components())["$defs"]
    options = defs["trainer.agents-fake:learner"]["properties"]
    assert all(option.get("description") for option in options.values())
    assert options["learning_rate"]["default"] == 3e-4
    assert options["type"]["enum"] == ["learner", "agents-fake:learner"]


def test_components_whose_model_cannot_be_had_are_named_and_left_out(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    import agents_fake.config  # type: ignore[import-not-found]

    monkeypatch.delattr(agents_fake.config, "OtherConfig")
    problems: list[str] = []
    schema = export(registry.components(), problems)
    assert "trainer.agents-fake:other" not in schema["$defs"]
    assert "trainer.agents-fake:learner" in schema["$defs"]
    assert len(problems) == 1
    assert "'other'" in problems[0]
    with pytest.raises(UserError, match="'other'"):
        compose(registry.components())
