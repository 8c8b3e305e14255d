"""What a loaded experiment is: complete, equal after a round trip, and independent of the working directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents_core.config import ConfigError, Experiment, load_experiment
from agents_core.errors import UserError
from agents_core.registry import Registry

MINIMAL: dict[str, Any] = {
    "environment": {"type": "world", "id": "home"},
    "behaviors": {"*": {"trainer": {"type": "learner"}}},
}
FULL = """\
seed: 3
environment:
  type: world
  id: "1e6"
  title: off
  level: 010
  kwargs: {mode: no, rate: 3e-4, nothing: null, text: "true", deep: {list: [1, "2", [x]]}}
  imports: [a.b, "off"]
  num_envs: 4
  workers: {type: inline}
behaviors:
  "*":
    max_steps: 1e6
    network:
      hidden_units: 32
      activation: relu
      normalize: yes
      shared: true
      encoders: {camera: {type: resnet}, units: {type: entities, heads: 2}, "off": {type: simple}}
    trainer:
      type: learner
      learning_rate: {initial: 1e-3, floor: 1e-5}
      beta: 1.0e-7
      limits: {a: 1, "b.c": 2}
      memory: {size: 8}
    reward_signals: {extrinsic: {}, novelty: {strength: {schedule: constant, initial: 0.5}}}
  "Team.Blue One": {trainer: {memory: null, limits: {a: null, d: 4}}, reward_signals: {extrinsic: null}}
  Goalie:
    network: {encoders: {camera: {type: "agents-core:nature_cnn", scale: none}, units: {heads: 1}, "off": null}}
    trainer: {type: other}
  Keeper: {network: {encoders: null}, trainer: {type: other}}
stats: {console: {}}
checkpoints: {interval: 1000, keep: 2, exact: true}
evaluation: {interval: 0, episodes: 3}
torch: {threads: 2, device: "cuda:1"}
"""


def load(registry: Registry, **changes: Any) -> Experiment:
    return load_experiment({**MINIMAL, **changes}, registry)


def test_defaults_are_filled_in(registry: Registry) -> None:
    experiment = load(registry)
    assert (experiment.checkpoints.interval, experiment.checkpoints.keep, experiment.checkpoints.exact) == (
        50_000,
        5,
        False,
    )
    assert (experiment.evaluation.interval, experiment.evaluation.episodes) == (None, 10)
    assert (experiment.torch.threads, experiment.torch.device) == (None, "auto")
    assert experiment.environment is not None
    assert (experiment.environment.num_envs, experiment.environment.workers.type) == (1, "inline")
    behavior = experiment.behavior("any")
    assert (behavior.max_steps, list(behavior.reward_signals)) == (500_000, ["extrinsic"])


def test_writers_are_the_default_ones_or_those_given_with_the_one_that_is_always_on(registry: Registry) -> None:
    assert set(load(registry).stats) == {"console", "jsonl", "board"}
    assert set(load(registry, stats={"board": {}}).stats) == {"board", "jsonl"}
    assert set(load(registry, stats={}).stats) == {"jsonl"}


def test_a_file_loads_and_feeds_back_to_an_equal_experiment(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(FULL, encoding="utf-8")
    experiment = load_experiment(file, registry)
    assert experiment.directory == tmp_path
    assert load_experiment(experiment.to_dict(), registry) == experiment
    saved = tmp_path / "results" / "config.yaml"
    saved.parent.mkdir()
    saved.write_text(experiment.to_yaml(), encoding="utf-8")
    again = load_experiment(saved, registry)
    assert again == experiment
    assert again.to_yaml() == experiment.to_yaml()


def test_values_of_a_full_file_are_what_was_written(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(FULL, encoding="utf-8")
    experiment = load_experiment(file, registry)
    assert experiment.environment is not None
    world: Any = experiment.environment.config
    assert (world.id, world.title, world.level, world.imports) == ("1e6", "off", "010", ("a.b", "off"))
    assert world.kwargs == {
        "mode": "no",
        "rate": 3e-4,
        "nothing": None,
        "text": "true",
        "deep": {"list": [1, "2", ["x"]]},
    }
    learner: Any = experiment.behaviors["*"].trainer.config
    assert (learner.learning_rate.initial, learner.learning_rate.final, learner.learning_rate.floor) == (1e-3, 0, 1e-5)
    blue: Any = experiment.behaviors["Team.Blue One"].trainer.config
    assert (blue.memory, blue.limits) == (None, {"b.c": 2, "d": 4})
    assert list(experiment.behaviors["Team.Blue One"].reward_signals) == ["novelty"]
    assert list(experiment.behaviors["Goalie"].reward_signals) == ["extrinsic", "novelty"]
    assert (experiment.evaluation.interval, experiment.torch.device) == (0, "cuda:1")


def test_encoders_are_chosen_by_observation_and_taken_over_from_star(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(FULL, encoding="utf-8")
    behaviors = load_experiment(file, registry).behaviors

    def encoders(name: str) -> dict[str, Any]:
        return {key: (section.type, section.options()) for key, section in behaviors[name].encoders.items()}

    simple = ("simple", {"scale": "auto", "precision": "float32"})
    assert encoders("*")["off"] == encoders("Team.Blue One")["off"] == simple
    assert encoders("*")["units"] == ("entities", {"embedding": 128, "heads": 2})
    assert encoders("Goalie") == {
        "camera": ("agents-core:nature_cnn", {"scale": "none", "precision": "float32"}),
        "units": ("entities", {"embedding": 128, "heads": 1}),
    }
    assert encoders("Keeper") == {}


def test_a_behavior_is_found_by_name_then_by_star(registry: Registry) -> None:
    entries = {"*": {"max_steps": 1, "trainer": {"type": "learner"}}, "A": {"max_steps": 2}}
    experiment = load(registry, behaviors=entries)
    assert (experiment.behavior("A").max_steps, experiment.behavior("B").max_steps) == (2, 1)


def test_a_behavior_that_matches_no_entry_is_an_error_with_the_nearest(registry: Registry) -> None:
    experiment = load(registry, behaviors={"Striker": {"trainer": {"type": "learner"}}})
    with pytest.raises(UserError, match=r"configures only Striker; did you mean 'Striker'\?"):
        experiment.behavior("Strker")


def test_an_offline_trainer_needs_no_environment_but_any_other_does(registry: Registry, tmp_path: Path) -> None:
    demonstration = tmp_path / "expert.demo"
    demonstration.touch()
    clone = {"trainer": {"type": "clone", "demo_path": str(demonstration)}}
    experiment = load_experiment({"behaviors": {"*": clone}}, registry)
    assert experiment.environment is None
    assert load_experiment(experiment.to_dict(), registry) == experiment
    with pytest.raises(ConfigError, match=r"environment: missing; the trainer 'learner' of agents-fake 0\.3"):
        load_experiment({"behaviors": {"*": clone, "A": {"trainer": {"type": "learner"}}}}, registry)


def test_data_files_are_found_from_the_folder_of_the_file_and_missing_ones_are_listed(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "experiments"
    folder.mkdir()
    (folder / "here.demo").touch()
    file = folder / "clone.yaml"
    file.write_text(
        'behaviors:\n  "*":\n    trainer: {type: clone, demo_path: [here.demo, ../gone.demo]}\n', encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    experiment = load_experiment(Path("experiments/clone.yaml"), registry)
    config: Any = experiment.behavior("x").trainer.config
    assert config.demo_path == [folder / "here.demo", tmp_path / "gone.demo"]
    source = Path("experiments/clone.yaml")
    lines = [str(missing) for missing in experiment.missing_files]
    assert lines == [
        f"{source}:3:51: behaviors.*.trainer.demo_path.1: no such file or folder: {tmp_path / 'gone.demo'} "
        "(trainer 'clone' of agents-fake 0.3)"
    ]
    with pytest.raises(ConfigError) as caught:
        experiment.require_files()
    assert str(caught.value) == lines[0]
    monkeypatch.chdir(folder)
    assert load_experiment(experiment.to_dict(), registry) == experiment


def test_a_directory_can_be_given_for_a_file_that_was_moved(registry: Registry, tmp_path: Path) -> None:
    content = {"behaviors": {"*": {"trainer": {"type": "clone", "demo_path": "a.demo"}}}}
    experiment = load_experiment(content, registry, directory=tmp_path)
    assert experiment.directory == tmp_path
    assert experiment.behavior("x").trainer.config.demo_path == tmp_path / "a.demo"  # type: ignore[attr-defined]


LOCAL = """\
from agents_core.plugin import RewardSignalSpec, hookimpl
from agents_core.options import RewardSignalConfig

class Config(RewardSignalConfig):
    pass

@hookimpl
def agents_reward_signals():
    return [RewardSignalSpec(name="homemade", summary="Ours", config="{module}:Config", factory="{module}:Config")]
"""


@pytest.mark.parametrize("written", ["{module}.py", "{module}"])
def test_a_local_plugin_is_used_and_found_again_from_elsewhere(
    written: str, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"homemade_{'file' if written.endswith('py') else 'module'}"
    (tmp_path / f"{module}.py").write_text(LOCAL.replace("{module}", module), encoding="utf-8")
    file = tmp_path / "experiment.yaml"
    file.write_text(
        f"plugins: [{written.format(module=module)}]\nrequires: [agents-fake>=0.1]\nenvironment: {{type: grid}}\n"
        'behaviors: {"*": {trainer: {type: learner}, reward_signals: {homemade: {}}}}\n',
        encoding="utf-8",
    )
    experiment = load_experiment(file, registry)
    assert experiment.behavior("x").reward_signals["homemade"].component.distribution is None
    assert experiment.plugins == (str(tmp_path / f"{module}.py"),)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert load_experiment(experiment.to_dict(), registry) == experiment


def test_a_local_plugin_that_is_not_there_is_named_with_its_line(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text("environment: {type: grid}\nplugins:\n  - gone.py\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"experiment\.yaml:3:5: plugins: 'gone.py' is not there") as caught:
        load_experiment(file, registry)
    assert str(tmp_path / "gone.py") in str(caught.value)


def test_a_local_plugin_can_be_named_on_the_command_line(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "homemade_argument.py"
    path.write_text(LOCAL.replace("{module}", path.stem), encoding="utf-8")
    experiment = load_experiment(MINIMAL, registry, plugins=["homemade"], overrides=[f"plugins=['{path}']"])
    assert list(experiment.behavior("x").reward_signals) == ["extrinsic", "homemade"]
