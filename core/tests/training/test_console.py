"""The console: bars on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from agents_core.contracts.stats import StatsWriterContext
from agents_core.training import console
from agents_core.training.console import ConsoleWriter
from agents_core.training.stats_config import ConsoleConfig

FULL = {"rollout/mean_return": 23.456, "rollout/mean_length": 23.0, "time/steps_per_second": 41234.5, "train/x": 1.0}
SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"


def open_writer(*, quiet: bool = False, **max_steps: int) -> ConsoleWriter:
    return ConsoleWriter(StatsWriterContext(ConsoleConfig(), Path(), max_steps or {"*": 100_000}, {}, quiet))


class Terminal(io.StringIO):
    """A terminal, 100 characters wide, and the writers opened on it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self._monkeypatch = monkeypatch
        self._writers: list[ConsoleWriter] = []
        monkeypatch.setattr(console, "REFRESH_SECONDS", 0.0)
        for name, value in {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1"}.items():
            monkeypatch.setenv(name, value)

    def isatty(self) -> bool:
        return True

    def open_writer(self, *, errors: io.StringIO | None = None, quiet: bool = False, **max_steps: int) -> ConsoleWriter:
        """A writer with standard output on this terminal and, unless `errors` is given, standard error too."""
        # Set here, not in a fixture: pytest's capturing sets both streams anew before the test itself.
        self._monkeypatch.setattr(sys, "stdout", self)
        self._monkeypatch.setattr(sys, "stderr", errors or self)
        self._writers.append(open_writer(quiet=quiet, **max_steps))
        return self._writers[-1]

    def close_writers(self) -> None:
        for writer in self._writers:
            writer.close()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    terminal = Terminal(monkeypatch)
    yield terminal
    terminal.close_writers()


# Plain lines


def test_elsewhere_each_summary_is_one_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    writer = open_writer()
    writer.progress("CartPole-v1", 2500, FULL)
    writer.write("CartPole-v1", 5000, 1.0, FULL)
    writer.write("CartPole-v1", 10000, 2.0, {"eval/mean_return": 475.0, "time/steps_per_second": 9.6})
    writer.close()
    writer.close()
    assert capsys.readouterr().out.splitlines() == [
        "CartPole-v1: step 5,000 of 100,000, mean return 23.5, 41,234 steps/s",
        "CartPole-v1: step 10,000 of 100,000, evaluation 475.0, 10 steps/s",
    ]


def test_small_returns_keep_their_digits(capsys: pytest.CaptureFixture[str]) -> None:
    open_writer().write("a", 1, 1.0, {"rollout/mean_return": 0.99123})
    assert "mean return 0.991" in capsys.readouterr().out


def test_each_behavior_is_shown_with_its_own_length(capsys: pytest.CaptureFixture[str]) -> None:
    writer = open_writer(runner=500)
    writer.write("runner", 100, 1.0, {})
    writer.write("stranger", 100, 1.0, {})
    assert capsys.readouterr().out.splitlines() == ["runner: step 100 of 500", "stranger: step 100"]


def test_lines_are_never_cut_wrapped_or_coloured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"COLUMNS": "20", "FORCE_COLOR": "1", "TTY_COMPATIBLE": "1", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    name = "Läufer[bold]" * 30
    open_writer().write(name, 5000, 1.0, FULL)
    line = f"{name}: step 5,000 of 100,000, mean return 23.5, 41,234 steps/s\n"
    assert capsys.readouterr().out == line


def test_a_dumb_terminal_gets_plain_lines(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    terminal.open_writer().write("a", 1, 1.0, {})
    assert terminal.getvalue() == "a: step 1 of 100,000\n"


def test_a_name_that_the_output_cannot_spell_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    open_writer().write("Läufer", 1, 1.0, {})
    assert raw.getvalue().decode("ascii").startswith("L\\xe4ufer: step 1")


def test_a_reader_that_went_away_does_not_end_the_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:  # noqa: ARG002
            raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(sys, "stdout", Closed())
    writer = open_writer()
    with caplog.at_level(logging.WARNING):
        writer.write("a", 1, 1.0, {})
        writer.write("a", 2, 1.0, {})
    assert [record.getMessage() for record in caplog.records] == [
        "standard output cannot be written any more ([Errno 32] Broken pipe); no further lines are printed"
    ]


def test_quiet_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    writer = open_writer(quiet=True)
    writer.progress("a", 1, FULL)
    writer.write("a", 1, 1.0, FULL)
    writer.close()
    assert capsys.readouterr() == ("", "")


def test_quiet_writes_nothing_on_a_terminal(terminal: Terminal) -> None:
    writer = terminal.open_writer(quiet=True)
    writer.progress("a", 1, FULL)
    writer.close()
    assert terminal.getvalue() == ""


# Bars


def test_a_terminal_shows_step_speed_return_and_time_left(terminal: Terminal) -> None:
    writer = terminal.open_writer(**{"Cart[bold]Pole": 10_000})
    writer.progress("Cart[bold]Pole", 2500, {"rollout/mean_return": 23.456, "time/steps_per_second": 100.0})
    shown = terminal.getvalue()
    for part in ("Cart[bold]Pole", "2,500/10,000", "100 steps/s", "return 23.5", "ETA 0:01:15"):
        assert part in shown


def test_a_summary_moves_the_step_and_keeps_the_numbers_that_progress_gave(terminal: Terminal) -> None:
    writer = terminal.open_writer()
    writer.progress("a", 4900, FULL)
    terminal.truncate(0)
    writer.write("a", 5000, 1.0, {"rollout/mean_return": -7.0, "time/steps_per_second": 3.0})
    assert "5,000/100,000 41,234 steps/s  return 23.5" in terminal.getvalue()
    assert "a: step" not in terminal.getvalue()


def test_before_an_episode_ends_no_return_is_shown(terminal: Terminal) -> None:
    terminal.open_writer().progress("a", 100, {"time/steps_per_second": 10.0})
    assert "10 steps/s" in terminal.getvalue()
    assert "return" not in terminal.getvalue()


def test_every_behavior_has_a_bar_even_one_of_unknown_length(terminal: Terminal) -> None:
    writer = terminal.open_writer(first=1000)
    writer.progress("first", 500, {})
    writer.progress("second", 70, {})
    last = terminal.getvalue().rpartition("\x1b[2K")[2]
    assert "500/1,000" in last.splitlines()[0]
    assert last.splitlines()[1].startswith("second")
    assert " 70 " in last.splitlines()[1]


def test_drawings_are_rare_and_the_last_one_is_up_to_date(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "REFRESH_SECONDS", 1e9)
    writer = terminal.open_writer()
    for step in range(1, 1001):
        writer.progress("a", step, {})
    assert terminal.getvalue().count("/100,000") <= 2, "at the first report, and none since"
    assert "1,000/100,000" not in terminal.getvalue()
    writer.close()
    assert "1,000/100,000" in terminal.getvalue()


def test_log_messages_stand_above_the_bar(terminal: Terminal) -> None:
    handler = logging.StreamHandler(terminal)  # holds the terminal itself, as handlers made before the run do
    logger = logging.getLogger("agents_core.test")
    logger.addHandler(handler)
    try:
        writer = terminal.open_writer()
        writer.progress("a", 100, {})
        logger.warning("mind the [bold]gap[/bold]")
        print("and the door")
        lines = [line.rpartition("\x1b[2K")[2] for line in terminal.getvalue().splitlines()]
        assert "mind the [bold]gap[/bold]" in lines
        assert "and the door" in lines
        assert "100/100,000" in lines[lines.index("and the door") + 1], "the bar is drawn again below"
        writer.close()
        assert handler.stream is terminal
    finally:
        logger.removeHandler(handler)


def test_errors_sent_to_a_file_stay_there(terminal: Terminal) -> None:
    errors = io.StringIO()
    terminal.open_writer(errors=errors).progress("a", 100, {})
    print("lost", file=sys.stderr)
    assert errors.getvalue() == "lost\n"
    assert "lost" not in terminal.getvalue()


def test_closing_gives_the_terminal_back_twice_over(terminal: Terminal) -> None:
    writer = terminal.open_writer()
    writer.progress("a", 100, {})
    assert terminal.getvalue().startswith(HIDE_CURSOR)
    writer.close()
    assert sys.stdout is terminal
    assert terminal.getvalue().rstrip().endswith(SHOW_CURSOR)
    after = terminal.getvalue()
    writer.close()
    assert terminal.getvalue() == after


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_program_that_dies_without_closing_gives_the_terminal_back(tmp_path: Path) -> None:
    program = tmp_path / "dies.py"
    program.write_text(
        "from pathlib import Path\n"
        "from agents_core.contracts.stats import StatsWriterContext\n"
        "from agents_core.training.console import ConsoleWriter\n"
        "from agents_core.training.stats_config import ConsoleConfig\n"
        "writer = ConsoleWriter(StatsWriterContext(ConsoleConfig(), Path(), {'*': 10}, {}, quiet=False))\n"
        "writer.progress('a', 5, {})\n"
        "raise RuntimeError('boom')\n",
        encoding="utf-8",
    )
    shown = run_on_terminal([sys.executable, str(program)])
    assert "boom" in shown
    assert shown.index(HIDE_CURSOR) < shown.index("boom") < shown.rindex(SHOW_CURSOR)


def run_on_terminal(command: list[str]) -> str:
    """What a program writes to a terminal."""
    master, slave = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # Linux says so when the last writer is gone
            break
        if not part:
            break
        shown += part
    os.close(master)
    process.wait(timeout=30)
    return shown.decode()
