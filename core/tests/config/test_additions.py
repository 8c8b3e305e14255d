"""`--plugin` and `--env` add components; without a file, a trainer's quickstart runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents_core.config import ConfigError, Experiment, load_experiment
from agents_core.registry import Registry

FILE = """\
environment: {type: world, id: home, title: here}
behaviors:
  "*": {trainer: {type: learner, batch_size: 8}}
  A: {reward_signals: {novelty: {gamma: 0.5}}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.yaml"
    path.write_text(FILE, encoding="utf-8")
    return path


def refuse(registry: Registry, source: Path | None = None, **arguments: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_experiment(source, registry, **arguments)
    return str(caught.value).splitlines()


def world(experiment: Experiment) -> Any:
    assert experiment.environment is not None
    return experiment.environment.config


@pytest.mark.parametrize("name", ["learner", "agents-fake:learner"])
def test_a_trainer_alone_runs_its_quickstart(name: str, registry: Registry) -> None:
    experiment = load_experiment(None, registry, plugins=[name])
    assert world(experiment).id == "home"
    assert experiment.environment is not None
    assert experiment.environment.num_envs == 2
    behavior = experiment.behavior("any")
    assert behavior.max_steps == 100_000
    assert behavior.trainer.config.learning_rate.initial == 1e-3  # type: ignore[attr-defined]


def test_overrides_and_signals_apply_to_the_quickstart(registry: Registry) -> None:
    experiment = load_experiment(
        None, registry, plugins=["learner", "novelty"], overrides=["behaviors.*.reward_signals.novelty.strength=0.1"]
    )
    signals = experiment.behavior("any").reward_signals
    assert list(signals) == ["extrinsic", "novelty"]
    assert signals["novelty"].config.strength.initial == 0.1  # type: ignore[attr-defined]


def test_with_an_environment_a_trainer_has_its_general_defaults(registry: Registry) -> None:
    experiment = load_experiment(None, registry, plugins=["learner"], environment="world:far:away")
    assert world(experiment).id == "far:away"
    behavior = experiment.behavior("any")
    assert behavior.max_steps == 500_000
    assert behavior.trainer.config.learning_rate.initial == 3e-4  # type: ignore[attr-defined]


def test_with_a_file_plugins_only_add(file: Path, registry: Registry) -> None:
    experiment = load_experiment(file, registry, plugins=["learner", "novelty"])
    common, named = experiment.behaviors["*"], experiment.behaviors["A"]
    assert common.trainer.config.batch_size == 8  # type: ignore[attr-defined]
    assert list(common.reward_signals) == ["extrinsic", "novelty"]
    assert list(named.reward_signals) == ["novelty"]
    assert named.reward_signals["novelty"].config.gamma == 0.5  # type: ignore[attr-defined]


def test_a_plugin_supplies_the_trainer_that_a_file_leaves_open(file: Path, registry: Registry) -> None:
    file.write_text("environment: {type: grid}\nbehaviors: {A: {max_steps: 5}}\n", encoding="utf-8")
    experiment = load_experiment(file, registry, plugins=["other"])
    assert (experiment.behaviors["A"].trainer.type, experiment.behaviors["A"].max_steps) == ("other", 5)


def test_another_trainer_than_that_of_the_file_is_refused(file: Path, registry: Registry) -> None:
    assert refuse(registry, file, plugins=["other"])[0] == (
        f"--plugin other: behaviors.*.trainer.type: the trainer of this behavior is 'learner' ({file}:3:25); --plugin "
        "only adds to a config: leave it away, or use --set behaviors.*.trainer.type=other"
    )


def test_two_trainers_are_refused(registry: Registry) -> None:
    assert refuse(registry, plugins=["learner", "other"]) == [
        "--plugin other: names a second trainer beside 'learner'; a behavior has one"
    ]


def test_a_signal_alone_is_nothing_to_run(registry: Registry) -> None:
    assert refuse(registry, plugins=["novelty"]) == [
        "--plugin novelty: the reward signal 'novelty' alone trains nothing; give a CONFIG, or add --plugin with a "
        "trainer"
    ]


def test_nothing_is_nothing_to_run(registry: Registry) -> None:
    assert refuse(registry) == [
        "agents: there is nothing to run; give a CONFIG, --plugin with a trainer, or both --plugin and --env TYPE:ID"
    ]


def test_a_trainer_without_quickstart_says_what_is_missing(registry: Registry) -> None:
    assert refuse(registry, plugins=["other"]) == [
        "--plugin other: trainer 'other' of agents-fake 0.3 ships no quickstart; give a CONFIG or --env TYPE:ID"
    ]


def test_an_unknown_plugin_is_refused_with_the_nearest(registry: Registry) -> None:
    (line,) = refuse(registry, plugins=["lerner"])
    assert line.startswith("--plugin lerner: ")
    assert "Did you mean 'learner'" in line


def test_a_name_that_means_several_components_is_refused(registry: Registry) -> None:
    (line,) = refuse(registry, plugins=["agents-fake"])
    assert "the trainer 'learner' and the trainer 'other'" in line
    assert "name one of them" in line


def test_env_replaces_another_type_and_keeps_the_rest_of_the_same(file: Path, registry: Registry) -> None:
    same = world(load_experiment(file, registry, environment="world:far"))
    assert (same.id, same.title) == ("far", "here")
    assert world(load_experiment(file, registry, environment="grid")).width == 5
    qualified = load_experiment(file, registry, environment="agents-fake:world:far")
    assert qualified.environment is not None
    assert (qualified.environment.type, world(qualified).id) == ("agents-fake:world", "far")


def test_an_id_for_an_environment_that_takes_none_is_refused(registry: Registry) -> None:
    assert refuse(registry, plugins=["learner"], environment="grid:5") == [
        "--env grid:5: environment: the environment 'grid' of agents-fake 0.3 takes no ID; use --set "
        "environment.KEY=VALUE"
    ]


def test_an_unknown_environment_type_is_refused_with_the_way_to_write_it(registry: Registry) -> None:
    (line,) = refuse(registry, plugins=["learner"], environment="home")
    assert line.startswith("--env home: environment.type: no installed plugin provides environment 'home'.")
    assert line.endswith("Write --env TYPE:ID, such as world:home")


def test_an_environment_without_a_trainer_is_refused(registry: Registry) -> None:
    assert refuse(registry, environment="grid") == [
        'command line: behaviors: missing; expected a section with one entry a behavior, or "*" for all'
    ]


def test_mistakes_of_arguments_and_file_come_together(file: Path, registry: Registry) -> None:
    file.write_text(FILE + "sed: 1\n", encoding="utf-8")
    lines = refuse(registry, file, plugins=["lerner"], environment="wrld", overrides=["seed=x", "q"])
    assert [line.split(": ")[0] for line in lines] == [
        f"{file}:5:1",
        "--env wrld",
        "--plugin lerner",
        "--set q",
        "--set seed=x",
    ]
