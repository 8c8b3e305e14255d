"""The folder of one run, `results/<run-id>`: its files, and who may write to it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from agents_core.errors import AgentsError, UserError
from agents_core.training.checkpoint import CheckpointStore
from agents_core.training.durable import make_folder, remove_folder
from agents_core.training.provenance import process_facts, timestamp
from agents_core.training.run_ids import RECORD_FILE, check_run_id, default_run_id, find_run
from agents_core.training.run_lock import LOCK_FILE, RunLock
from agents_core.training.run_log import RunLog
from agents_core.training.run_record import read_record, to_json, warn_of_changes, write_file, write_record

Status = Literal["finished", "interrupted", "failed"]

_log = logging.getLogger(__name__)


class RunDirectory:
    """Paths of a run and its record.

    `create` makes one, `open` finds one for reading. Only the process that holds the lock may write: `create` takes it,
    `resume` takes it for a run that is there. As a context manager it records how the run ended if an exception ends
    it, with its traceback in run.log, and closes.

    Attributes:
        path: `results/<run-id>`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: RunLock | None = None
        self._before: dict[str, Any] | None = None  # The record before `resume`, until training begins.
        self._log: RunLog | None = None

    @classmethod
    def create(
        cls,
        results: Path,
        run_id: str | None,
        *,
        words: Sequence[str],
        seed: int,
        command: Sequence[str],
        versions: Mapping[str, str],
        plugins: Mapping[str, str],
        force: bool = False,
    ) -> RunDirectory:
        """Make the directory of a new run and lock it; on failure nothing of it is left.

        Args:
            results: Folder of runs; made if it is missing.
            run_id: Name of the run; None = made of `words` and the time.
            words: Such as trainer and environment.
            seed: The run's seed.
            command: The command line.
            versions: Versions of core and what else matters, by distribution.
            plugins: Versions of the plugins, by distribution.
            force: Replace a run of that name. A folder that is no run is never touched.

        Raises:
            UserError: The name cannot be used or is taken, or the folder cannot be made.
        """
        run = cls(results / (default_run_id(*words) if run_id is None else check_run_id(run_id)))
        is_new, had_results = run_id is None or not run.path.exists(), results.is_dir()
        try:
            if run_id is None:
                run._claim_name()
            run._take_over(force)
            facts = process_facts(command, versions, plugins)
            write_record(run.path, {"run_id": run.path.name, "seed": seed, **facts, "earlier": []})
        except BaseException as error:
            if is_new:
                run.discard()
            run.close()
            if is_new:
                with suppress(OSError):  # Another process was quicker to make its run there: only empty folders go.
                    run.path.rmdir()
            if not had_results:
                with suppress(OSError):
                    results.rmdir()
            if isinstance(error, OSError):
                raise UserError(f"{run.path}: the run directory cannot be made: {error.strerror or error}") from error
            raise
        return run

    @classmethod
    def open(cls, run: str | Path, results: Path) -> RunDirectory:
        """A run that is there, for reading.

        Args:
            run: A run directory, or a run id under `results`.
            results: Folder of runs.

        Raises:
            UserError: There is no such run.
        """
        return cls(find_run(run, results))

    def resume(self, *, command: Sequence[str], versions: Mapping[str, str], plugins: Mapping[str, str]) -> None:
        """Lock the run for a further process and record it; versions that changed are warned about.

        Raises:
            RunLockedError: Another process trains in it.
            UserError: Nothing can be written there.
        """
        try:
            self._lock = RunLock(self.path)
            record = self.record()
            facts = process_facts(command, versions, plugins)
            warn_of_changes({**record["versions"], **record["plugins"]}, {**facts["versions"], **facts["plugins"]})
            earlier = {key: record.get(key) for key in facts}
            if earlier["status"] == "running":  # It holds no lock any more, so it was killed.
                earlier["status"] = "failed"
            self._before = record
            write_record(self.path, {**record, **facts, "earlier": [*record["earlier"], earlier]})
        except OSError as error:
            self.close()
            raise UserError(f"{self.path}: this run cannot be continued: {error.strerror or error}") from error
        except BaseException:
            self.close()
            raise

    def begin(self) -> None:
        """Training begins: from here on an error is a failure of the run; before, a resumed run stays as it was."""
        self._before = None

    def record(self) -> dict[str, Any]:
        """The content of run.json: `run_id`, `seed`, facts of the last process, and those of `earlier` ones.

        Raises:
            DamagedFileError: The file cannot be read.
        """
        return read_record(self.path)

    @property
    def config_path(self) -> Path:
        """The resolved experiment."""
        return self.path / "config.yaml"

    @property
    def log_path(self) -> Path:
        """Everything that was logged, with tracebacks."""
        return self.path / "run.log"

    @property
    def summary_path(self) -> Path:
        """How the run ended, in numbers."""
        return self.path / "summary.json"

    @property
    def timers_path(self) -> Path:
        """Where the time went."""
        return self.path / "timers.json"

    @property
    def checkpoints_path(self) -> Path:
        """For a `CheckpointStore`."""
        return self.path / "checkpoints"

    def write_config(self, text: str) -> None:
        """Write config.yaml, the resolved experiment."""
        write_file(self.config_path, text)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write summary.json; every number in it is finite or None."""
        write_file(self.summary_path, to_json(summary))

    def start_log(self) -> None:
        """Log to run.log, until `close`; see `RunLog`."""
        self._log = RunLog(self.log_path)

    def finish(self, status: Status) -> None:
        """Record that this process's part of the run ended, and how."""
        write_record(self.path, {**self.record(), "status": status, "ended": timestamp()})

    def discard(self) -> None:
        """Remove the directory of a new run that could not start; does nothing without the lock."""
        if self._lock is None:
            return
        self._clear(keep=())
        self.close()
        with suppress(OSError):  # Windows keeps a folder that somebody looks into.
            (self.path / LOCK_FILE).unlink()
            self.path.rmdir()

    def close(self) -> None:
        """Close run.log and free the lock; calling it twice is allowed."""
        if self._log is not None:
            self._log.close()
            self._log = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if error is not None and self._lock is not None:
                self._record_failure(error)
        finally:
            self.close()

    def _record_failure(self, error: BaseException) -> None:
        if self._log is not None:
            self._log.write_error(error)
        try:
            if self._before is not None:
                write_record(self.path, self._before)
            else:
                self.finish("interrupted" if isinstance(error, KeyboardInterrupt) else "failed")
        except AgentsError as second:  # A full disk, say: the first error is the one to report.
            _log.warning("%s", second)

    def _claim_name(self) -> None:
        """Make the folder, under the first name with a number behind it that is free."""
        make_folder(self.path.parent)
        wanted, number = self.path.name, 1
        while True:
            try:
                self.path.mkdir()
                return
            except FileExistsError:
                number += 1
                self.path = self.path.with_name(f"{wanted}-{number}")

    def _take_over(self, force: bool) -> None:
        """Make the folder, or empty that of an earlier run, under its lock."""
        self._check_free(force)
        make_folder(self.path)
        lock = RunLock(self.path)
        try:
            self._check_free(force)  # Between look and lock another process may have been quicker.
        except BaseException:
            lock.release()
            raise
        self._lock = lock
        self._clear(keep=(RECORD_FILE,))

    def _check_free(self, force: bool) -> None:
        if not self.path.exists():
            return
        entries = {path.name for path in self.path.iterdir()} if self.path.is_dir() else {"a file"}
        if RECORD_FILE in entries and force:
            self.record()
        elif RECORD_FILE in entries:
            advice = "continue it with --resume, " if CheckpointStore(self.checkpoints_path).behaviors() else ""
            raise UserError(
                f"run {self.path.name!r} exists in {self.path.parent.absolute()}; {advice}"
                "replace it with --force, or give another --run-id"
            )
        elif not entries <= {LOCK_FILE, f".{RECORD_FILE}.new"}:  # Else it is empty, or a killed `create` left it.
            raise UserError(
                f"{self.path.absolute()}: exists and is no run, so it stays as it is; give another --run-id"
            )

    def _clear(self, keep: Sequence[str]) -> None:
        """Remove everything but the lock; run.json last, so that what is half removed still counts as a run."""
        entries = sorted(self.path.iterdir(), key=lambda path: path.name == RECORD_FILE)
        for path in entries:
            if path.name in (LOCK_FILE, *keep):
                continue
            if path.is_dir() and not path.is_symlink():
                remove_folder(path)
            else:
                path.unlink()
