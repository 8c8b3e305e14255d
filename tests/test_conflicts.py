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
        (
            "{}",
            "{type: bc, demo_path: demos.h5}",
            "{'my.own': {type: rnd}}",
            [(7, 'reward_signals."my.own"', "no effect", "remove")],
        ),
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


def test_every_behavior_needs_minibatches_that_its_sequences_fit_into(tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    named = FILE.replace("SIGNALS", "{extrinsic: {}}").replace("TRAINER", "{type: ppo}")
    named = named.replace("NETWORK", "{memory: {sequence_length: 300}}")
    for more, names in (
        ("  Large: {trainer: {batch_size: 500}}\n", ["*"]),
        ("  Small: {trainer: {batch_size: 50}}\n", ["*", "Small"]),
    ):
        file.write_text(named + more, encoding="utf-8")
        result = CliRunner().invoke(main, ["config", "validate", str(file)])
        assert result.exit_code == 2
        assert [line.split(": ")[1].split(".")[1] for line in result.stderr.splitlines()] == names


LOCAL_TRAINER = """
from agents_core.options import TrainerConfig
from agents_core.plugin import TrainerSpec, hookimpl


class LocalConfig(TrainerConfig):
    def conflicts(self, others):
        CONFLICTS


@hookimpl
def agents_trainers():
    return [TrainerSpec(name="local", summary="Learns nothing", config="local_trainer:LocalConfig",
                        factory="local_trainer:LocalConfig", buffer="replay")]
"""


@pytest.mark.parametrize(
    ("conflicts", "message"),
    [
        ("return others.nothing", "AttributeError"),
        ("return None", "TypeError"),
        ("return ['abc']", "TypeError"),
        ("return ()", ""),
        (
            "return [(('network', 'num_layers'), f'found {others.network.num_layers}; expected 1')]",
            "found 2; expected 1",
        ),
    ],
)
def test_conflicts_of_a_plugin_are_told_in_its_name_also_where_they_fail(
    conflicts: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "local_trainer.py").write_text(LOCAL_TRAINER.replace("CONFLICTS", conflicts), encoding="utf-8")
    file = tmp_path / "experiment.yaml"
    text = FILE.replace("NETWORK", "{}").replace("TRAINER", "{type: local}").replace("SIGNALS", "{extrinsic: {}}")
    file.write_text("plugins: [local_trainer.py]" + text, encoding="utf-8")
    result = CliRunner().invoke(main, ["config", "validate", str(file)])
    assert result.exit_code == (2 if message else 0)
    assert message in result.stderr
    if message:
        assert "Traceback" not in result.stderr
        assert "trainer 'local'" in result.stderr
        assert f"{file}:" in result.stderr
    wrong = CliRunner().invoke(
        main, ["config", "validate", str(file), "--set", "behaviors.*.trainer.buffer.buffer_sise=3"]
    )
    assert wrong.exit_code == 2
    assert len(wrong.stderr.splitlines()) == 1
    assert "did you mean 'buffer_size'" in wrong.stderr
