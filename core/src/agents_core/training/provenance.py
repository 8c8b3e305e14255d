"""Where a process of a run comes from: command, versions, machine, state of the source tree."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

_GIT_SECONDS = 5.0


def process_facts(command: Sequence[str], versions: Mapping[str, str], plugins: Mapping[str, str]) -> dict[str, Any]:
    """What run.json says of the process that trains now."""
    return {
        "status": "running",
        "started": timestamp(),
        "ended": None,
        "command": list(command),
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "versions": {"python": platform.python_version(), **versions},
        "plugins": dict(plugins),
        "git": git_state(Path.cwd()),
    }


def timestamp() -> str:
    """The time now, UTC, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def git_state(directory: Path) -> dict[str, Any] | None:
    """Commit, branch and whether tracked files differ from it; None outside of a git tree, or without git."""
    # Neither locks nor hooks of the tree: looking must change nothing and run nothing.
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "status"]
    try:
        done = subprocess.run(
            [*command, "--porcelain=v2", "--branch", "--untracked-files=no"],
            cwd=directory,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.decode(errors="replace").splitlines()
    head = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# branch."))
    return {
        "commit": head.get("branch.oid"),
        "branch": head.get("branch.head"),
        "changed": any(not line.startswith("#") for line in lines),
    }
