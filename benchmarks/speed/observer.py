"""A local plugin that notes the CPU time of this process when a run takes its first step and when it ends."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from agents_core.plugin import hookimpl

marks: list[float] = []


@hookimpl
def agents_run_started(run_directory: Path, config: Mapping[str, object]) -> None:  # noqa: ARG001 - the hook's
    marks.append(time.process_time())


@hookimpl
def agents_run_finished(run_directory: Path, status: str) -> None:  # noqa: ARG001 - the hook's
    marks.append(time.process_time())
