"""Writing files so that a kill, a power cut or a full disk leaves the old content or the new, never a mixture."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

TRASH = ".trash-"
"""Start of the name of folders that are being deleted; such a folder may be deleted by anybody."""

_RETRIES = 20
_RETRY_SECONDS = 0.05


def write_file(path: Path, data: bytes) -> None:
    """Write a file and wait until it is on disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, data: bytes) -> None:
    """Give a file new content: written aside, flushed, renamed. A leftover of a killed process is overwritten."""
    aside = path.with_name(f".{path.name}.new")
    try:
        write_file(aside, data)
        rename(aside, path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, unless they are there, and wait until their names are on disk."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync_directory(path.parent)


def rename(source: Path, target: Path) -> None:
    """`os.replace`; on Windows tried again for a second while another process has the file open."""
    for attempt in range(_RETRIES):
        try:
            os.replace(source, target)  # noqa: PTH105
            return
        except PermissionError:
            if os.name != "nt" or attempt == _RETRIES - 1:
                raise
            time.sleep(_RETRY_SECONDS)


def sync_directory(directory: Path) -> None:
    """Wait until the names in a directory are on disk. Windows cannot and need not be asked to."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_folder(folder: Path) -> None:
    """Delete a folder under its own name at once, its content after that, so that no half of it is ever met."""
    trash = folder.with_name(f"{TRASH}{folder.name}")
    shutil.rmtree(trash, ignore_errors=True)
    rename(folder, trash)
    shutil.rmtree(trash)
