"""What a plugin or the disk does to a run is told as such: whose fault it is, where, and no half-written run."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import agents_core
import pytest
from agents_core.cli.main import main
from agents_core.errors import AgentsError, UserError
from click.testing import CliRunner

SIGNAL = """
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.options import RewardSignalConfig
from agents_core.plugin import RewardSignalSpec, hookimpl


class Sulky(RewardSignal):
    def __init__(self, context):
        self.strength, self.gamma = context.config.strength, context.config.gamma

    def evaluate(self, batch):
        return batch["no_such_field"]


@hookimpl
def agents_reward_signals():
    return [RewardSignalSpec(name="sulky", summary="Raises", config="agents_core.options:RewardSignalConfig",
                             factory="sulky:Sulky")]
"""
EXPERIMENT = """
plugins: [sulky.py]
environment: {type: gymnasium, id: CartPole-v1, num_envs: 2}
behaviors:
  "*":
    trainer: {type: ppo, buffer_size: 64, batch_size: 32}
    reward_signals: {sulky: {}}
    max_steps: 100
"""


def test_an_exception_of_a_plugin_names_the_plugin_and_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sulky.py").write_text(SIGNAL)
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT)
    done = CliRunner().invoke(main, ["run", "experiment.yaml", "--run-id", "run", "--quiet"])
    assert done.exit_code == 1
    assert "plugin 'sulky'" in done.stderr
    assert "KeyError: 'no_such_field'" in done.stderr
    assert f"evaluate, {tmp_path / 'sulky.py'}:12" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in (tmp_path / "results" / "run" / "run.log").read_text()


def test_a_plugin_that_leaves_the_program_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sulky.py").write_text(SIGNAL.replace('return batch["no_such_field"]', "raise SystemExit(0)"))
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT)
    done = CliRunner().invoke(main, ["run", "experiment.yaml", "--run-id", "run", "--quiet"])
    assert done.exit_code == 1
    assert "plugin 'sulky'" in done.stderr
    assert "sys.exit(0)" in done.stderr


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ("5", "`update` returned int"),
        ('{"loss": batch["reward"]}', "`update` returned 'loss' as a Tensor"),
        ('{"loss": float("nan")}', "`update` returned 'loss' as nan"),
    ],
)
@pytest.mark.parametrize("trainer", ["ppo", "sac"])
def test_statistics_that_a_signal_may_not_give_are_refused_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trainer: str, returned: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    update = f'batch["reward"]\n\n    def update(self, batch):\n        return {returned}'
    (tmp_path / "sulky.py").write_text(SIGNAL.replace('batch["no_such_field"]', update))
    text = EXPERIMENT
    if trainer == "sac":
        text = text.replace("type: ppo, buffer_size: 64", "type: sac, buffer_init_steps: 40")
    (tmp_path / "experiment.yaml").write_text(text)
    done = CliRunner().invoke(main, ["run", "experiment.yaml", "--run-id", "run", "--quiet"])
    assert done.exit_code == (4 if "nan" in returned else 2)
    assert f"reward signal 'sulky' (sulky:Sulky): {words}" in done.stderr


def test_a_buffer_smaller_than_a_minibatch_is_refused_before_the_start(tmp_path: Path) -> None:
    experiment = small()
    trainer = {"type": "sac", "batch_size": 64, "buffer": {"type": "replay", "buffer_size": 50}}
    experiment["behaviors"]["*"]["trainer"] = trainer
    with pytest.raises(UserError, match="found 50, fewer than a minibatch has"):
        agents_core.train(experiment, results=tmp_path, run_id="run")
    assert not (tmp_path / "run").exists()


def test_a_mistake_of_core_keeps_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("in core")

    monkeypatch.setattr("agents_core.training.recorder.Recorder.summarise", broken)
    with pytest.raises(ZeroDivisionError):
        agents_core.train(small(), results=tmp_path, run_id="run")


def test_a_disk_that_refuses_is_named_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "events.out")

    monkeypatch.setattr("agents_stats_tensorboard.writer.TensorBoardWriter.write", full)
    with pytest.raises(AgentsError, match=r"events\.out: No space left on device"):
        agents_core.train(small(stats={"tensorboard": {}}), results=tmp_path, run_id="run")


def test_a_buffer_that_memory_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not enough memory"):
        agents_core.train(small(buffer_size=10**13), results=tmp_path, run_id="run")
    assert not (tmp_path / "run").exists()


def small(stats: dict[str, object] | None = None, buffer_size: int = 64) -> dict[str, Any]:
    return {
        "environment": {"type": "gymnasium", "id": "CartPole-v1", "num_envs": 2},
        "behaviors": {
            "*": {
                "trainer": {"type": "ppo", "buffer_size": buffer_size, "batch_size": 32},
                "max_steps": 200,
                "summary_freq": 50,
            }
        },
        "stats": stats or {},
    }
