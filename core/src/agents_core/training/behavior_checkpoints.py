"""The folder that holds one behavior's checkpoints."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from agents_core.errors import UserError
from agents_core.training.checkpoint_files import (
    Checkpoint,
    Member,
    PolicyCheckpoint,
    folder_name,
    read_checkpoint,
    read_header,
)
from agents_core.training.durable import (
    TRASH,
    make_folder,
    remove_folder,
    rename,
    replace_file,
    sync_directory,
    write_file,
)
from agents_core.training.saved_replay import listed_files
from agents_core.training.state_files import DamagedFileError

_NEW = ".new-"
_OLD = ".old-"

_log = logging.getLogger(__name__)
CheckpointT = TypeVar("CheckpointT", bound=PolicyCheckpoint)


class BehaviorCheckpoints:
    """Checkpoints of one behavior: folders named after their step, and `best` and `last`, which name one of them.

    Args:
        directory: `results/<run-id>/checkpoints`.
        behavior: Name of the behavior.

    Attributes:
        folder: The behavior's folder.
    """

    def __init__(self, directory: Path, behavior: str) -> None:
        self.behavior = behavior
        self.folder = directory / folder_name(behavior)

    def steps(self) -> list[int]:
        """Steps of the checkpoints, ascending."""
        return sorted(int(path.name) for path in children(self.folder) if path.name.isdecimal())

    def named_step(self, name: str) -> int | None:
        """The step that `best` or `last` names; None where there is no such file.

        Raises:
            DamagedFileError: The file holds no step.
        """
        path = self.folder / name
        try:
            return int(path.read_bytes())
        except FileNotFoundError:
            return None
        except (ValueError, OSError) as error:
            raise DamagedFileError(f"{path}: is damaged: it names no step") from error

    def name_step(self, name: str, step: int) -> None:
        """Let `best` or `last` name a step."""
        replace_file(self.folder / name, f"{step}\n".encode())

    def load(self, which: str | int | None, read: Callable[[Path], CheckpointT]) -> CheckpointT:
        """Read `best`, `last` or a step; None = `best` if there is one, else `last`.

        Raises:
            UserError: There is no such checkpoint, or it is damaged.
        """
        try:
            return read(self._find(which))
        except DamagedFileError:
            pass  # A process that trains may just have replaced it: look once more.
        try:
            return read(self._find(which))
        except DamagedFileError as error:
            raise DamagedFileError(f"{error}; {self._what_there_is()}") from error

    def load_member(self, member: Member) -> Checkpoint:
        """Read the checkpoint that a save of the run wrote.

        Raises:
            DamagedFileError: It is missing, damaged, or of another save.
        """
        checkpoint = read_checkpoint(self._path(member.step))
        if (checkpoint.number, checkpoint.behavior) != (member.number, self.behavior):
            raise DamagedFileError(f"{checkpoint.path}: belongs to another save than the run's other checkpoints")
        return checkpoint

    def write_aside(self, member: Member, files: Mapping[str, bytes]) -> None:
        """Write a checkpoint under a name that nobody reads, and wait until it is on disk."""
        aside = self._aside(member)
        make_folder(aside)
        for name, data in files.items():
            write_file(aside / name, data)
        sync_directory(aside)

    def withdraw(self, member: Member) -> None:
        """Remove what `write_aside` wrote, or a part of it."""
        shutil.rmtree(self._aside(member), ignore_errors=True)

    def publish(self, member: Member, *, is_best: bool) -> None:
        """Give a checkpoint written aside its name, and let `last` name it; completes what a killed process began."""
        target, aside, old = self._path(member.step), self._aside(member), self._old(member.step)
        if not aside.is_dir() and not old.is_dir() and self._names("last", member.step):
            return
        if aside.is_dir():
            if target.is_dir():  # An earlier save at the same step; whoever reads meanwhile finds it as `.old-<step>`.
                self._remove(old)
                rename(target, old)
            rename(aside, target)
            sync_directory(self.folder)
        if is_best:
            self.name_step("best", member.step)
        self.name_step("last", member.step)
        self._remove(old)

    def prune(self, last: int, keep: int) -> None:
        """Remove all but the `keep` newest checkpoints up to `last`, and `best`.

        Checkpoints beyond `last` are from a past that the run went back behind; they go as well.
        """
        steps = self.steps()
        kept = {last, *[step for step in steps if step <= last][-keep:]}
        for step in steps:
            if step not in kept and not self._names("best", step):
                self._remove(self._path(step))

    def replay_files(self, keep: int) -> set[str]:
        """Names of the files of transitions that the `keep` newest checkpoints list."""
        names: set[str] = set()
        for step in self.steps()[-keep:]:
            try:
                names |= listed_files(read_header(self._path(step)))
            except DamagedFileError as error:
                _log.warning("%s", error)
        return names

    def clean(self) -> None:
        """Remove what killed processes left."""
        for path in children(self.folder):
            if path.name.startswith((_NEW, _OLD, TRASH)):
                self._remove(path)

    def _find(self, which: str | int | None) -> Path:
        if which is None:
            best = self.named_step("best")
            is_there = best is not None and any(path.is_dir() for path in (self._path(best), self._old(best)))
            which = "best" if is_there else "last"
        step = self.named_step(which) if which in ("best", "last") else which
        if isinstance(step, str) and step.isdecimal():
            step = int(step)
        if isinstance(step, int):
            for path in (self._path(step), self._old(step)):
                if path.is_dir():
                    return path
        raise UserError(f"{self.folder}: there is no checkpoint {which!r}; {self._what_there_is()}")

    def _what_there_is(self) -> str:
        named = [name for name in ("best", "last") if (self.folder / name).is_file()]
        return f"there are: {', '.join([*named, *map(str, self.steps())]) or 'none'}"

    def _path(self, step: int) -> Path:
        return self.folder / str(step)

    def _aside(self, member: Member) -> Path:
        return self.folder / f"{_NEW}{member.step}-{member.number}"

    def _old(self, step: int) -> Path:
        return self.folder / f"{_OLD}{step}"

    def _names(self, name: str, step: int) -> bool:
        path = self.folder / name
        return path.is_file() and path.read_bytes() == f"{step}\n".encode()

    def _remove(self, folder: Path) -> None:
        """Remove a folder if it is there; one that cannot be removed (on Windows: open elsewhere) costs only space."""
        try:
            if folder.is_dir():
                remove_folder(folder)
        except OSError as error:
            _log.warning("%s: could not be removed: %s", folder, error.strerror)


def children(folder: Path) -> list[Path]:
    """What is in a folder, sorted; nothing where it is missing."""
    return sorted(folder.iterdir()) if folder.is_dir() else []
