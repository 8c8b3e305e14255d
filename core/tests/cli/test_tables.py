"""Tables are whole lines in a pipe and fitted to the window on a terminal."""

from __future__ import annotations

import io
import re
import sys

import pytest
from agents_core.cli.tables import print_table

LONG = "word " * 60
ROWS = [["a", LONG.strip(), "x"], ["longer", "[bold]b[/bold]", ""]]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_in_a_pipe_each_row_is_one_line_with_aligned_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["name", "text", "end"], ROWS)
    header, first, second = capsys.readouterr().out.splitlines()
    assert first == f"a       {LONG.strip()}  x"
    assert second == "longer  [bold]b[/bold]"
    assert header.split() == ["NAME", "TEXT", "END"]
    assert header.index("END") == first.index("x")


def test_on_a_terminal_long_text_is_folded_and_markup_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    print_table(["name", "text", "end"], ROWS)
    text = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    assert "[bold]b[/bold]" in text
    assert text.count("word") == 60
    assert max(len(line) for line in text.splitlines()) <= 60
