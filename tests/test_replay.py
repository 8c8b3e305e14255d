"""Runs whose replay buffers are saved, taken over, damaged and dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import agents_core
import pytest
from agents_core.cli.main import main
from agents_core.errors import UserError


def experiment(**buffer: Any) -> dict[str, Any]:
    trainer = {"type": "sac", "batch_size": 16, "steps_per_update": 8, "buffer_init_steps": 40}
    return {
        "plugins": ["agents_core.testing.plugin"],
        "environment": {"type": "toy", "id": "simple1d", "agents": 4},
        "behaviors": {
            "*": {
                "max_steps": 200,
                "network": {"hidden_units": 8, "num_layers": 1},
                "trainer": {**trainer, "buffer": {"type": "replay", "buffer_size": 150, **buffer}},
            }
        },
        "checkpoints": {"interval": 80},
        "evaluation": {"interval": 0},
        "stats": {},
    }


def saved_files(run: Path) -> list[Path]:
    return sorted(run.glob("replay/*/*.h5"))


def resume(run: Path, max_steps: int, *options: str) -> int | str | None:
    """Exit code of `agents resume`."""
    with pytest.raises(SystemExit) as ended:
        main(["resume", str(run), "--max-steps", str(max_steps), "--quiet", *options])
    return ended.value.code


def test_transitions_are_saved_only_if_the_experiment_says_so(tmp_path: Path) -> None:
    without = agents_core.train(experiment(), results=tmp_path, run_id="without")
    assert not (without.directory / "replay").exists()
    saved = agents_core.train(experiment(save_replay_buffer=True), results=tmp_path, run_id="saved")
    assert saved_files(saved.directory)


def test_a_damaged_file_ends_a_resume_and_drop_replay_goes_on_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = agents_core.train(experiment(save_replay_buffer=True), results=tmp_path, run_id="run").directory
    newest = max(saved_files(run), key=lambda path: int(path.stem))
    newest.write_bytes(newest.read_bytes()[:-100])
    assert resume(run, 300) == 2
    error = capsys.readouterr().err
    assert str(newest) in error
    assert "--drop-replay" in error
    assert resume(run, 300, "--drop-replay") in (0, None)
    assert resume(run, 400) in (0, None)


def test_more_transitions_than_memory_are_refused_before_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents_core.replay.free_memory.free_memory", lambda: 10**6)
    with pytest.raises(UserError, match=r"buffer_size: 1000000 transitions need .* at most \d+ would fit"):
        agents_core.train(experiment(buffer_size=1_000_000), results=tmp_path, run_id="run")
    assert not (tmp_path / "run").exists()
