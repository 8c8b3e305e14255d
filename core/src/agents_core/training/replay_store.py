"""The contents of buffers beside the checkpoints: `results/<run-id>/replay/<behavior>/<k>.h5`.

A save writes the transitions that are new since the one before to a further file; the checkpoint lists all files that
hold what was in the buffer, and keeps what else the buffer needs. A file never changes once it has its name. One that
no checkpoint lists any more is removed.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from agents_core.columns import Array
from agents_core.contracts.buffer import Buffer
from agents_core.errors import UserError
from agents_core.hdf5_files import DAMAGE, reason_of
from agents_core.spec import BehaviorSpec
from agents_core.training.checkpoint_files import folder_name
from agents_core.training.durable import make_folder
from agents_core.training.replay_segment import check_segment, read_segment, write_segment
from agents_core.training.saved_replay import SavedReplay, Segment
from agents_core.training.state_files import DamagedFileError

_FEWEST_PARTS = 32
"""A last file that holds less than this part of all is written anew together with what follows."""

_log = logging.getLogger(__name__)


class ReplayStore:
    """Saves and loads the buffers of a run.

    Args:
        directory: `results/<run-id>/replay`.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._folders: dict[str, ReplayFolder] = {}

    def write(self, behavior: str, buffer: Buffer) -> SavedReplay:
        """Write what is new in a buffer since the last save that counts, for a checkpoint to list."""
        return self._of(behavior).write(buffer)

    def commit(self, saved: Mapping[str, SavedReplay]) -> None:
        """The checkpoints that list these, by behavior, count from now on."""
        for behavior, replay in saved.items():
            self._of(behavior).commit(replay)

    def load(self, behavior: str, saved: SavedReplay | None, buffer: Buffer | None, spec: BehaviorSpec) -> None:
        """Give a buffer back what was saved; where there is neither, nothing happens.

        Raises:
            UserError: A file is missing or damaged, or does not fit; the message says how to go on without.
        """
        if buffer is None:
            return
        if saved is None:
            _log.warning(
                "behavior '%s': no transitions were saved, its buffer starts empty; checkpoints.exact saves them, or "
                "save_replay_buffer where the buffer has it",
                behavior,
            )
            return
        self._of(behavior).load(saved, buffer, spec)

    def keep_only(self, behavior: str, names: Collection[str]) -> None:
        """Remove a behavior's files that are not among these."""
        self._of(behavior).keep_only(names)

    def _of(self, behavior: str) -> ReplayFolder:
        if behavior not in self._folders:
            self._folders[behavior] = ReplayFolder(self._directory, behavior)
        return self._folders[behavior]


class ReplayFolder:
    """Files of one behavior's transitions.

    Args:
        directory: `results/<run-id>/replay`.
        behavior: Name of the behavior.
    """

    def __init__(self, directory: Path, behavior: str) -> None:
        self._run = directory.parent
        self._folder = directory / folder_name(behavior)
        self._behavior = behavior
        self._saved: Sequence[Segment] = ()
        self._reading = self._folder  # What a refusal names.

    def write(self, buffer: Buffer) -> SavedReplay:
        """Write what is new in the buffer since the last save that counts."""
        stored = buffer.stored
        kept = [segment for segment in self._saved if segment.last > stored.start]
        if kept and kept[-1].last - kept[-1].first < len(stored) // _FEWEST_PARTS:
            kept.pop()
        first = kept[-1].last if kept else stored.start
        if first < stored.stop:
            make_folder(self._folder)
            path = self._folder / f"{max(self._numbers(), default=0) + 1}.h5"
            kept.append(write_segment(path, buffer, range(first, stored.stop), buffer.compression))
        return SavedReplay(kept, buffer.export_rest())

    def commit(self, saved: SavedReplay) -> None:
        """The checkpoint that lists this counts from now on."""
        self._saved = saved.segments

    def load(self, saved: SavedReplay, buffer: Buffer, spec: BehaviorSpec) -> None:
        """Give a buffer back what was saved.

        Raises:
            UserError: A file is missing or damaged, or does not fit; the message says how to go on without.
        """
        try:
            for segment in saved.segments:
                self._reading = self._folder / segment.name
                check_segment(self._reading, segment, spec)
            self._reading = self._folder
            buffer.restore(self._pieces(saved.segments), saved.rest)
        except DamagedFileError as error:
            raise self._refusal(str(error)) from error
        except KeyError as error:
            problem = f"{self._run}: was saved by another kind of buffer: what it saved has no {error}"
            raise self._refusal(problem) from error
        except DAMAGE as error:
            raise self._refusal(f"{self._reading}: cannot be taken over: {reason_of(error)}") from error
        self._saved = saved.segments

    def keep_only(self, names: Collection[str]) -> None:
        """Remove the files that are not among these."""
        if not self._folder.is_dir():
            return
        for path in self._folder.iterdir():
            if path.name not in names and path.suffix in (".h5", ".new"):
                try:
                    path.unlink(missing_ok=True)
                except OSError as error:
                    _log.warning("%s: could not be removed: %s", path, error.strerror)

    def _pieces(self, segments: Sequence[Segment]) -> Iterator[tuple[range, Mapping[str, Array]]]:
        for segment in segments:
            self._reading = self._folder / segment.name
            yield from read_segment(self._reading, segment)
        self._reading = self._folder

    def _numbers(self) -> Iterator[int]:
        return (int(path.stem) for path in self._folder.glob("*.h5") if path.stem.isdecimal())

    def _refusal(self, problem: str) -> UserError:
        return UserError(
            f"{problem}\nThe saved transitions of behavior {self._behavior!r} cannot be taken over. What was learned "
            f"can; to go on with an empty buffer: agents resume {self._run} --drop-replay"
        )
