"""Options that do not go with those of other sections are refused with their lines, before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest
from agents_core.cli.main import main
from click.testing import CliRunner

FILE = """
environment: {type: gymnasium, id: Pendulum-v1}
behaviors:
  "*":
    network: NETWORK
    trainer: TRAINER
    reward_signals: SIGNALS
"""
ENOUGH = "{buffer_size: 200}"


@pytest.mark.parametrize(
    ("network", "trainer", "signals", "mistakes"),
    [
        (
            "{memory: {sequence_length: 300}}",
            "{type: ppo}",
            "{extrinsic: {}}",
            [(5, "network.memory.sequence_length", "found 300, more than trainer.batch_size (256)", "256 or less")],
        ),
        (
            "{memory: {sequence_length: 300}}",
            "{type: ppo, batch_size: 500, buffer_size: 500}",
            "{extrinsic: {}}",
            [],
        ),
        (
            "{shared: true, memory: {}}",
            "{type: sac, batch_size: 16, n_step: 3, buffer: {buffer_size: 15}}",
            "{extrinsic: {}}",
            [
                (5, "network.shared", "found true", "expected false"),
                (5, "network.memory.sequence_length", "found 32, more than trainer.batch_size (16)", "16 or less"),
                (6, "trainer.n_step", "found 3", "expected 1"),
                (6, "trainer.buffer.buffer_size", "found 15, fewer", "16 or more"),
            ],
        ),
        (
            "{memory: {sequence_length: 16}}",
            "{type: sac, batch_size: 16, buffer: {type: prioritized, buffer_size: 16}}",
            "{extrinsic: {}}",
            [],
        ),
        (
            "{}",
            "{type: bc, demo_path: demos.h5}",
            "{extrinsic: {}, rnd: {}, curiosity: {}}",
            [(7, "reward_signals.curiosity", "no effect", "remove"), (7, "reward_signals.rnd", "no effect", "remove")],
        ),
        ("{}", "{type: bc, demo_path: demos.h5}", "{extrinsic: {}}", []),
    ],
)
def test_conflicts_are_told_all_at_once_with_their_lines(
    network: str, trainer: str, signals: str, mistakes: list[tuple[int, str, str, str]], tmp_path: Path
) -> None:
    file = tmp_path / "experiment.yaml"
    text = FILE.replace("NETWORK", network).replace("TRAINER", trainer).replace("SIGNALS", signals)
    file.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(main, ["config", "validate", str(file)])
    lines = [line for line in result.stderr.splitlines() if not line.startswith("Warning: ")]
    assert result.exit_code == (2 if mistakes else 0), result.output
    for line, key, found, allowed in mistakes:
        (message,) = [text for text in lines if f"behaviors.*.{key}: " in text]
        assert f"{file}:{line}:" in message
        assert found in message
        assert allowed in message
    assert len(lines) == len(mistakes)


def test_a_run_with_a_conflict_makes_nothing(tmp_path: Path) -> None:
    results = tmp_path / "results"
    options = [
        "--plugin",
        "sac",
        "--env",
        "gymnasium:Pendulum-v1",
        "--set",
        "behaviors.*.trainer.buffer.buffer_size=100",
    ]
    result = CliRunner().invoke(main, ["run", *options, "--results", str(results)])
    assert result.exit_code == 2
    assert "--set" in result.stderr
    assert "trainer.buffer.buffer_size: found 100, fewer than a minibatch has (trainer.batch_size 256)" in result.stderr
    assert not results.exists()
