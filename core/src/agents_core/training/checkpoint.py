"""The checkpoints of a run: several behaviors saved at one moment, so that a kill never leaves a mixture of moments.

    checkpoints/saves.json                 the newest save: which checkpoint of each behavior belongs to it
    checkpoints/<behavior>/<step>/         one checkpoint, see `checkpoint_files`
    checkpoints/<behavior>/best, last      small files that name a step

A save first writes every new checkpoint aside, as `.new-<step>-<number>`, and waits until all are on disk. Replacing
saves.json then makes the save count, at once and for all behaviors. Only after that the folders get their names. A
process killed before leaves the previous save untouched; what one killed after leaves, `recover` completes.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from agents_core.errors import AgentsError, UserError
from agents_core.training.behavior_checkpoints import BehaviorCheckpoints, children
from agents_core.training.checkpoint_files import (
    Checkpoint,
    Member,
    PolicyCheckpoint,
    Snapshot,
    behavior_name,
    encode_checkpoint,
    read_checkpoint,
    read_header,
    read_members,
    read_policy,
)
from agents_core.training.durable import replace_file
from agents_core.training.replay_store import ReplayStore
from agents_core.training.state_files import DamagedFileError, dump_document, parse_document

SAVES_FILE = "saves.json"

_log = logging.getLogger(__name__)


class CheckpointSaveError(AgentsError):
    """A checkpoint could not be written; the previous save is as it was."""


@dataclass(frozen=True, slots=True)
class _Save:
    """The run at one moment: the content of saves.json."""

    number: int = 0
    members: Mapping[str, Member] = field(default_factory=dict)
    best: Collection[str] = ()


class CheckpointStore:
    """Saves, finds and reads the checkpoints of a run.

    Reading (`behaviors`, `steps`, `load`, `load_policy`) changes nothing and may happen while another process trains.
    Saving and `load_last` are for the one process that holds the run's lock.

    Args:
        directory: `results/<run-id>/checkpoints`; made at the first save.
        keep: Newest checkpoints of each behavior to keep; `best` stays beyond that.
        versions: Versions of core and plugins by distribution, to be written into each checkpoint.
    """

    def __init__(self, directory: Path, *, keep: int = 5, versions: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self.replay = ReplayStore(directory.with_name("replay"))
        self._keep = keep
        self._versions = dict(versions or {})
        self._current: _Save | None = None  # What the next save continues from; None = `recover` did not run yet.
        self._last_number = 0

    def save(
        self, snapshots: Mapping[str, Snapshot], run: Mapping[str, Any], *, best: Collection[str] = ()
    ) -> dict[str, Path]:
        """Save behaviors at one moment; those not named stay in the save as they were saved before.

        Args:
            snapshots: What to save, by behavior.
            run: Plain values that belong to the whole run.
            best: Behaviors whose `best` becomes this checkpoint.

        Returns:
            The folder of each checkpoint, complete on disk.

        Raises:
            CheckpointSaveError: The disk is full or refuses.
            UnsavableStateError: A state holds something that cannot be saved.
        """
        if unknown := set(best) - set(snapshots):
            raise ValueError(f"only what is saved can become the best: {sorted(unknown)}")
        current = self.recover()
        number = self._last_number + 1
        written = {name: Member(snapshot.step, number) for name, snapshot in snapshots.items()}
        save = _Save(number, {**current.members, **written}, sorted(best))
        try:
            replays = {
                name: self.replay.write(name, snapshot.buffer)
                for name, snapshot in snapshots.items()
                if snapshot.buffer is not None
            }
            contents = {
                name: encode_checkpoint(name, snapshot, run, self._versions, number, save.members, replays.get(name))
                for name, snapshot in snapshots.items()
            }
            for name, files in contents.items():
                self._of(name).write_aside(written[name], files)
            replace_file(self.directory / SAVES_FILE, _dump(save))
            self._publish(save)
        except OSError as error:
            self._withdraw(save)
            raise self._explained(error) from error
        except BaseException:
            self._withdraw(save)
            raise
        self._current, self._last_number = save, number
        for name, member in written.items():
            self._of(name).prune(member.step, self._keep)
        self.replay.commit(replays)
        self._remove_unlisted(written)
        return {name: self._of(name).folder / str(member.step) for name, member in written.items()}

    def behaviors(self) -> list[str]:
        """Behaviors that have a checkpoint, sorted."""
        names = (behavior_name(path.name) for path in children(self.directory) if path.is_dir())
        return sorted(name for name in names if self.steps(name))

    def steps(self, behavior: str) -> list[int]:
        """Steps of the behavior's checkpoints, ascending."""
        return self._of(behavior).steps()

    def named_step(self, behavior: str, name: str) -> int | None:
        """The step that `best` or `last` names; None where there is no such file."""
        return self._of(behavior).named_step(name)

    def load(self, behavior: str, which: str | int | None = None) -> Checkpoint:
        """Read a whole checkpoint: `best`, `last` or a step; None = `best` if there is one, else `last`.

        Raises:
            UserError: There is no such behavior or checkpoint, or it is damaged.
        """
        return self._known(behavior).load(which, read_checkpoint)

    def load_policy(self, behavior: str, which: str | int | None = None) -> PolicyCheckpoint:
        """As `load`, but only what acting needs."""
        return self._known(behavior).load(which, read_policy)

    def load_last(self) -> dict[str, Checkpoint]:
        """The newest save, which training continues from: a checkpoint of each behavior.

        Where one of its checkpoints is damaged, the newest save that is whole is taken instead, with a warning.

        Raises:
            UserError: There is no save, or none that is whole.
        """
        problems: list[str] = []
        for save in self._saves(self.recover()):
            try:
                checkpoints = {name: self._of(name).load_member(member) for name, member in save.members.items()}
            except DamagedFileError as error:
                problems.append(str(error))
                continue
            if problems:
                steps = ", ".join(f"{name} at step {member.step}" for name, member in save.members.items())
                _log.warning("%s; going back to the newest checkpoint that is whole: %s", problems[0], steps)
            self._current = save
            return checkpoints
        if problems:
            raise UserError("\n".join(["no checkpoint of this run can be read:", *problems]))
        raise UserError(f"{self.directory}: holds no checkpoint to continue from; start anew with --force")

    def recover(self) -> _Save:
        """Complete or remove what a killed process left; done once.

        Returns:
            The save that the next one continues from.
        """
        if self._current is None:
            newest = self._newest()
            try:
                self._publish(newest)
            except OSError as error:
                raise self._explained(error) from error
            for path in children(self.directory):
                if path.is_dir():
                    self._of(behavior_name(path.name)).clean()
            self._remove_unlisted(newest.members)
            self._current, self._last_number = newest, newest.number
        return self._current

    def _remove_unlisted(self, behaviors: Collection[str]) -> None:
        """Remove saved transitions that no checkpoint lists any more from which the run could go on."""
        for name in behaviors:
            self.replay.keep_only(name, self._of(name).replay_files(self._keep))

    def _publish(self, save: _Save) -> None:
        for name, member in save.members.items():
            self._of(name).publish(member, is_best=name in save.best)

    def _withdraw(self, save: _Save) -> None:
        """After a failure: forget a save that does not count yet; one that does is completed by the next `recover`."""
        if self._newest().number == save.number:
            self._current = None
            return
        for name, member in save.members.items():
            self._of(name).withdraw(member)

    def _explained(self, error: OSError) -> CheckpointSaveError:
        return CheckpointSaveError(
            f"{error.filename or self.directory}: the checkpoint could not be saved: {error.strerror or error}; the "
            f"previous one is intact. Make room or give write permission, then: agents resume {self.directory.parent}"
        )

    def _newest(self) -> _Save:
        """The save that saves.json names; what the checkpoints tell where that file is lost."""
        path = self.directory / SAVES_FILE
        try:
            return _parse(parse_document(path.read_bytes(), path), path)
        except FileNotFoundError:
            problem = f"{path}: is missing"
        except DamagedFileError as error:
            problem = str(error)
        newest = next(self._found(), _Save())
        if newest.members:
            _log.warning("%s; going by the checkpoints that are there", problem)
        return newest

    def _saves(self, newest: _Save) -> Iterator[_Save]:
        """Saves from the newest to the oldest."""
        if newest.members:
            yield newest
        for save in self._found():
            if save.number < newest.number:
                yield save

    def _found(self) -> Iterator[_Save]:
        """Saves that a checkpoint still tells of, from the newest to the oldest."""
        saves: dict[int, _Save] = {}
        for behavior in self.behaviors():
            for step in self.steps(behavior):
                try:
                    header = read_header(self._of(behavior).folder / str(step))
                except DamagedFileError as error:
                    _log.warning("%s", error)
                    continue
                saves[header["number"]] = _Save(header["number"], read_members(header))
        yield from (saves[number] for number in sorted(saves, reverse=True))

    def _of(self, behavior: str) -> BehaviorCheckpoints:
        return BehaviorCheckpoints(self.directory, behavior)

    def _known(self, behavior: str) -> BehaviorCheckpoints:
        known = self.behaviors()
        if behavior not in known:
            near = get_close_matches(behavior, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise UserError(
                f"{self.directory}: behavior {behavior!r} has no checkpoint; "
                f"there are checkpoints of: {', '.join(known) or 'none'}{hint}"
            )
        return self._of(behavior)


def _dump(save: _Save) -> bytes:
    members = {name: [member.step, member.number] for name, member in save.members.items()}
    return dump_document({"number": save.number, "members": members, "best": list(save.best)})


def _parse(content: Any, path: Path) -> _Save:
    try:
        members = {name: Member(int(step), int(number)) for name, (step, number) in content["members"].items()}
        return _Save(int(content["number"]), members, list(content["best"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedFileError(f"{path}: is damaged: it is no list of checkpoints") from error
