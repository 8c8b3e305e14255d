"""Writing a file aside and renaming it, so that nobody ever meets half of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from agents_core.contracts.demonstration import DemonstrationError


@contextlib.contextmanager
def written_aside(target: Path) -> Iterator[Path]:
    """A path in the target's folder to write to; renamed to the target at the end, deleted if anything is raised.

    Raises:
        DemonstrationError: The folder is missing or cannot be written to, or the disk is full.
    """
    aside = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield aside
        with aside.open("r+b") as file:
            os.fsync(file.fileno())
        os.replace(aside, target)  # noqa: PTH105
    except OSError as error:
        raise DemonstrationError(f"{target}: cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):  # it was renamed, or never came to be
            aside.unlink()
