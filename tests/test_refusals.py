"""What cannot work is refused before anything starts: exit code 2, one message, nothing on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from agents_core.cli.main import main
from click.testing import CliRunner

TALKER = """
import gymnasium
import numpy as np


class Talker(gymnasium.Env):
    observation_space = gymnasium.spaces.Text(10)
    action_space = gymnasium.spaces.Discrete(2)


class Grapher(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (3,))
    action_space = gymnasium.spaces.Text(3)


class Broken(gymnasium.Env):
    def __init__(self, size):
        raise FileNotFoundError("level.txt")
"""
ENVIRONMENT = """
environment: {{type: gymnasium, {environment}}}
behaviors:
  "*": {{trainer: {{type: ppo}}, max_steps: 100}}
"""


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ("id: CartPole-v9", ["CartPole-v9", "CartPole-v1"]),
        ("id: CartPoll-v1", ["CartPoll-v1", "CartPole-v1"]),
        ('id: "nowhere_at_all:Thing-v0"', ["nowhere_at_all"]),
        ('entry_point: "talker:Talker"', ["Text"]),
        ('entry_point: "talker:Grapher"', ["Text"]),
        ('entry_point: "talker:Talkr"', ["Talkr", "Talker"]),
        ('entry_point: "talker:Broken"', ["size"]),
        ("id: CartPole-v1, kwargs: {gravitas: 3}", ["gravitas"]),
        ('id: CartPole-v1, wrappers: ["FlatenObservation"]', ["FlatenObservation", "FlattenObservation"]),
        ("num_envs: 2", ["id", "entry_point"]),
        ("id: CartPole-v1, num_envs: 0", ["num_envs"]),
        ("id: CartPole-v1, workers: {type: proces}", ["proces", "process"]),
    ],
)
def test_an_environment_that_cannot_work_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: str, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talker.py").write_text(TALKER)
    (tmp_path / "experiment.yaml").write_text(ENVIRONMENT.format(environment=environment))
    done = CliRunner().invoke(main, ["run", "experiment.yaml"])
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    for word in words:
        assert word in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run"], ["--plugin"]),
        (["run", "missing.yaml"], ["missing.yaml"]),
        (["run", "--plugin", "pppo"], ["pppo", "ppo"]),
        (["run", "--plugin", "gymnasium"], ["is environment", "--env gymnasium:ID"]),
        (["run", "--plugin", "ppo", "--env", "gym:CartPole-v1"], ["gym", "gymnasium"]),
        (["run", "--plugin", "ppo", "--device", "cuda:99"], ["cuda:99"]),
        (["run", "--plugin", "ppo", "--set", "behaviors.*.trainer.lerning_rate=1"], ["lerning_rate", "learning_rate"]),
        (["run", "--plugin", "ppo", "--run-id", "a/b"], ["a/b"]),
        (["run", "--plugin", "ppo", "--resume"], ["--run-id"]),
        (["run", "--plugin", "ppo", "--resume", "--run-id", "nothing"], ["nothing"]),
        (["run", "--plugin", "ppo", "--init-from", "nothing"], ["nothing"]),
        (["run", "--plugin", "ppo", "--inference"], ["--init-from"]),
        (["run", "--plugin", "ppo", "--resume", "--run-id", "a", "--init-from", "b"], ["--init-from"]),
        (["run", "--plugin", "ppo", "--set", "behaviors.*.max_steps=.inf"], ["max_steps", "whole number"]),
        (["run", "--plugin", "ppo", "--set", "seed=.nan"], ["seed", "whole number"]),
        (["resume", "nothing"], ["nothing"]),
        (["evaluate", "nothing"], ["nothing"]),
    ],
)
def test_arguments_that_cannot_work_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    for word in words:
        assert word in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("workers", ["inline", "process"])
def test_exact_checkpoints_refuse_wrappers_that_keep_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    monkeypatch.chdir(tmp_path)
    environment = f'id: CartPole-v1, wrappers: ["NormalizeObservation"], workers: {{type: {workers}}}'
    text = ENVIRONMENT.format(environment=environment) + "checkpoints: {exact: true}\n"
    (tmp_path / "experiment.yaml").write_text(text)
    done = CliRunner().invoke(main, ["run", "experiment.yaml"])
    assert done.exit_code == 2
    assert "NormalizeObservation" in done.stderr
    assert not (tmp_path / "results").exists()
