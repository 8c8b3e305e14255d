"""`--set` changes an experiment with the same rules and messages as its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents_core.config import ConfigError, Experiment, load_experiment
from agents_core.registry import Registry

FILE = """\
environment: {type: world, id: home, kwargs: {mode: human}}
behaviors:
  "*":
    max_steps: 100
    trainer: {type: learner, batch_size: 8}
  My.Striker: {max_steps: 200}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.yaml"
    path.write_text(FILE, encoding="utf-8")
    return path


def load(file: Path, registry: Registry, *overrides: str) -> Experiment:
    return load_experiment(file, registry, overrides=overrides)


def refuse(file: Path, registry: Registry, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_experiment(file, registry, overrides=overrides)
    return str(caught.value).splitlines()


def config(experiment: Experiment, behavior: str = "*") -> Any:
    return experiment.behaviors[behavior].trainer.config


def test_a_value_is_read_by_the_type_of_what_it_sets(file: Path, registry: Registry) -> None:
    experiment = load(
        file, registry, "seed=1e1", "environment.title=no", "environment.kwargs.n=no", "checkpoints.exact=yes"
    )
    assert experiment.seed == 10
    assert experiment.environment is not None
    assert experiment.environment.config.title == "no"  # type: ignore[attr-defined]
    assert experiment.environment.config.kwargs == {"mode": "human", "n": "no"}  # type: ignore[attr-defined]
    assert experiment.checkpoints.exact is True


def test_a_star_reaches_every_behavior_and_a_quoted_one_only_its_entry(file: Path, registry: Registry) -> None:
    steps = {name: entry.max_steps for name, entry in load(file, registry, "behaviors.*.max_steps=5").behaviors.items()}
    assert steps == {"*": 5, "My.Striker": 5}
    experiment = load(file, registry, 'behaviors."*".max_steps=5')
    assert {name: entry.max_steps for name, entry in experiment.behaviors.items()} == {"*": 5, "My.Striker": 200}


def test_a_star_makes_no_entry_beside_named_ones(file: Path, registry: Registry) -> None:
    file.write_text("environment: {type: grid}\nbehaviors: {A: {trainer: {type: learner}}}\n", encoding="utf-8")
    assert list(load(file, registry, "behaviors.*.max_steps=5").behaviors) == ["A"]


def test_a_key_with_dots_stands_in_quotes(file: Path, registry: Registry) -> None:
    for quoted in ('"My.Striker"', "'My.Striker'"):
        experiment = load(file, registry, f"behaviors.{quoted}.trainer.batch_size=16")
        assert config(experiment, "My.Striker").batch_size == 16
        assert config(experiment).batch_size == 8


def test_a_new_behavior_starts_from_what_all_have(file: Path, registry: Registry) -> None:
    experiment = load(file, registry, "behaviors.Goalie.time_horizon=9")
    goalie = experiment.behaviors["Goalie"]
    assert (goalie.time_horizon, goalie.max_steps, config(experiment, "Goalie").batch_size) == (9, 100, 8)


def test_later_ones_win(file: Path, registry: Registry) -> None:
    assert load(file, registry, "seed=2", "seed=3").seed == 3


def test_another_type_replaces_the_block_and_later_ones_fill_it(file: Path, registry: Registry) -> None:
    overrides = ("behaviors.*.trainer.type=other", "behaviors.*.trainer.tau=0.5")
    assert config(load(file, registry, *overrides)).tau == 0.5


def test_null_and_nothing_remove(file: Path, registry: Registry) -> None:
    for value in ("null", ""):
        experiment = load(file, registry, f"behaviors.*.trainer.batch_size={value}", f"environment.kwargs.mode={value}")
        assert config(experiment).batch_size == 32
        assert experiment.environment is not None
        assert experiment.environment.config.kwargs == {}  # type: ignore[attr-defined]


def test_a_whole_section_or_list_can_be_set(file: Path, registry: Registry) -> None:
    experiment = load(
        file,
        registry,
        "behaviors.*.trainer.layers=[1e1, 20]",
        "behaviors.*.reward_signals={novelty: {strength: 0.5}}",
        "behaviors.*.trainer.learning_rate={schedule: linear, initial: 1e-3}",
    )
    assert config(experiment).layers == [10, 20]
    assert list(experiment.behaviors["*"].reward_signals) == ["novelty"]
    assert (config(experiment).learning_rate.initial, config(experiment).learning_rate.final) == (1e-3, 0)


def test_the_source_of_a_mistake_is_the_argument(file: Path, registry: Registry) -> None:
    learner = "trainer 'learner' of agents-fake 0.3"
    assert refuse(file, registry, "behaviors.*.trainer.batch_size=0", "sed=1", "behaviors.*.trainer.cilp=1") == [
        "--set behaviors.*.trainer.batch_size=0: behaviors.*.trainer.batch_size: found 0, expected a whole number of "
        f"at least 1 ({learner})",
        "--set behaviors.*.trainer.cilp=1: behaviors.*.trainer.cilp: unknown key; allowed keys of "
        f"{learner}: batch_size, beta, buffer_size, clip, epsilon, layers, learning_rate, limits, memory, mode, "
        "target_kl, type; did you mean 'clip'?",
        "--set sed=1: sed: unknown key; allowed keys: behaviors, checkpoints, directory, environment, "
        "evaluation, plugins, requires, seed, stats, torch; did you mean 'seed'?",
    ]


def test_mistakes_of_the_file_keep_their_place(file: Path, registry: Registry) -> None:
    file.write_text(FILE.replace("batch_size: 8", "batch_size: 8, buffer_size: 4"), encoding="utf-8")
    lines = refuse(file, registry, "behaviors.*.trainer.mode=slow")
    assert lines[0].startswith(f"{file}:5:42: behaviors.*.trainer.batch_size: batch_size (8) must not be larger")
    # ... and where the argument is to blame, it is named.
    file.write_text(FILE, encoding="utf-8")
    lines = refuse(file, registry, "behaviors.*.trainer.batch_size=1000")
    assert lines[0].startswith("--set behaviors.*.trainer.batch_size=1000: behaviors.*.trainer.batch_size: batch_size")


@pytest.mark.parametrize("text", ["", "seed", "=1", ".seed=1", "a..b=1", "a.=1", '"a=1', "a b=1"])
def test_what_is_no_override_is_refused(text: str, file: Path, registry: Registry) -> None:
    assert refuse(file, registry, text) == [
        f"--set {text}: expected KEY=VALUE with keys joined by dots, such as behaviors.*.trainer.batch_size=64"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("seed=[1", "not YAML"),
        ("seed=!!python/name:os.system x", "tags are not allowed"),
        ("seed=*a", "has no anchor"),
        ("seed=1: 2: 3", "not YAML"),
    ],
)
def test_a_value_that_is_no_yaml_is_refused(text: str, problem: str, file: Path, registry: Registry) -> None:
    (line,) = refuse(file, registry, text)
    assert line.startswith(f"--set {text}: ")
    assert problem in line


def test_every_bad_override_is_reported(file: Path, registry: Registry) -> None:
    assert len(refuse(file, registry, "q", "seed=x", "a=1")) == 3
