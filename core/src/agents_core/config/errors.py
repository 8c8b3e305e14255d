"""Mistakes in an experiment: where each is, and all of them as one error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agents_core.config.document import Position
from agents_core.errors import UserError

KeyPath = tuple[str, ...]

_PLAIN_KEY = re.compile(r"[^\s.=\"'\[\]]+")


def show_path(path: Sequence[str]) -> str:
    """A key path as `--set` takes it: `behaviors.*.trainer`, with quotes around keys that hold dots or blanks."""
    return ".".join(key if _PLAIN_KEY.fullmatch(key) else '"' + key.replace('"', '""') + '"' for key in path)


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong.

    Attributes:
        position: Where it was written.
        path: Keys from the top of the experiment to it; empty where it concerns the whole file.
        message: What was found, what is allowed and the nearest known name.
    """

    position: Position
    path: KeyPath
    message: str

    def __str__(self) -> str:
        where = f"{self.position}: {show_path(self.path)}" if self.path else str(self.position)
        return f"{where}: {self.message}"


class ConfigError(UserError):
    """An experiment with mistakes; its text has one line for each, and nothing before it, so that editors jump there.

    Attributes:
        mistakes: In the order of the file.
    """

    heading = ""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(sorted(_without_repeats(mistakes), key=lambda mistake: mistake.position.order))
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


def _without_repeats(mistakes: Iterable[Mistake]) -> list[Mistake]:
    """A value that several behaviors share through `"*"` or an alias is reported once, where it was written."""
    first: dict[tuple[Position, str], Mistake] = {}
    for mistake in mistakes:
        first.setdefault((mistake.position, mistake.message), mistake)
    return list(first.values())
