"""Tables for people: fitted to the window on a terminal, whole lines everywhere else."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headers on stdout. Where that is no terminal, nothing is wrapped or cut."""
    if sys.stdout and sys.stdout.isatty():
        _print_rich(headers, rows)
        return
    lines = [[header.upper() for header in headers], *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _print_rich(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        table.add_column(header, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)
