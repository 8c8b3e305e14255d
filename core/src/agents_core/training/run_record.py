"""run.json, the record of a run: which processes trained it, with what, and how they ended."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents_core.errors import AgentsError
from agents_core.training.durable import replace_file
from agents_core.training.run_ids import RECORD_FILE
from agents_core.training.state_files import DamagedFileError, parse_document

_log = logging.getLogger(__name__)

_KEYS = frozenset({"run_id", "status", "versions", "plugins", "earlier"})


class RunFileError(AgentsError):
    """A file of the run directory could not be written."""


def read_record(directory: Path) -> dict[str, Any]:
    """The record in a run directory.

    Raises:
        DamagedFileError: It cannot be read.
    """
    path = directory / RECORD_FILE
    try:
        content = parse_document(path.read_bytes(), path)
    except OSError as error:
        raise DamagedFileError(f"{path}: cannot be read: {error.strerror}") from error
    if not isinstance(content, dict) or not content.keys() >= _KEYS:
        raise DamagedFileError(f"{path}: is damaged: it is no record of a run")
    return content


def write_record(directory: Path, record: Mapping[str, Any]) -> None:
    """Replace the record in a run directory.

    Raises:
        RunFileError: It cannot be written.
    """
    write_file(directory / RECORD_FILE, to_json(record))


def warn_of_changes(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Warn where the version of a distribution is another now."""
    for distribution, version in before.items():
        if (current := now.get(distribution, "not installed")) != version:
            _log.warning("%s: %s when the run was last trained, %s now", distribution, version, current)


def to_json(content: Mapping[str, Any]) -> str:
    """The content as an indented document; every number in it is finite."""
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def write_file(path: Path, text: str) -> None:
    """Replace a file of the run directory.

    Raises:
        RunFileError: It cannot be written.
    """
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise RunFileError(f"{path}: cannot be written: {error.strerror or error}") from error
