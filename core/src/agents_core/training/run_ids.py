"""Names of runs: which are allowed, how one is made up, and which run a name means."""

from __future__ import annotations

import os
import re
import time
from difflib import get_close_matches
from pathlib import Path

from agents_core.errors import UserError

RECORD_FILE = "run.json"

_MAX_BYTES = 150
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')
_RESERVED = re.compile(r"(CON|PRN|AUX|NUL|COM[1-9]|LPT[1-9])(\..*)?", re.IGNORECASE)


def check_run_id(run_id: str) -> str:
    """The run id, which can name a folder on every system.

    Raises:
        UserError: It cannot.
    """
    problem = ""
    if found := _FORBIDDEN.search(run_id):
        problem = f"contains {found.group()!r}"
    elif not 0 < len(run_id.encode("utf-8", "surrogatepass")) <= _MAX_BYTES:
        problem = f"is {'empty' if not run_id else 'too long'}"
    elif run_id[0] in ".- " or run_id[-1] in ". ":
        problem = "starts with '.', '-' or a space, or ends with '.' or a space"
    elif _RESERVED.fullmatch(run_id):
        problem = "is a reserved name on Windows"
    if problem:
        raise UserError(
            f"--run-id {run_id!r} {problem}; a run id is 1 to {_MAX_BYTES} bytes of letters, digits, "
            "'-', '_', '.' and the like, without separators"
        )
    return run_id


def default_run_id(*parts: str) -> str:
    """A run id from words such as trainer and environment, and the time: `ppo-CartPole-v1-20260131-174500`."""
    words = "-".join(re.sub(r"[^A-Za-z0-9._-]+", "-", part).strip("-.") for part in parts)
    return f"{words.strip('-.')[:100] or 'run'}-{time.strftime('%Y%m%d-%H%M%S')}"


def find_run(run: str | Path, results: Path) -> Path:
    """The directory of a run.

    Args:
        run: A run directory, or a run id under `results`.
        results: Folder of runs.

    Raises:
        UserError: There is no such run; the message names the nearest run id.
    """
    for candidate in (Path(run), results / run):
        if os.path.isfile(candidate / RECORD_FILE):  # noqa: PTH113 - False, not an error, for names that are too long
            return candidate
    known = sorted(path.parent.name for path in results.glob(f"*/{RECORD_FILE}"))
    near = get_close_matches(str(run), known, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    for candidate in (Path(run), results / run):
        if os.path.exists(candidate):  # noqa: PTH110
            raise UserError(
                f"{candidate}: is no run directory: it has no {RECORD_FILE}. {hint}{_listed(known, results)}"
            )
    raise UserError(f"no run {str(run)!r}: neither a run directory nor a run id. {hint}{_listed(known, results)}")


def _listed(known: list[str], results: Path) -> str:
    folder = results.absolute()
    if not known:
        return f"There are no runs in {folder}; name their folder with --results"
    shown = ", ".join(known[-10:])
    return f"Runs in {folder}: {'…, ' if len(known) > 10 else ''}{shown}"
