"""One checkpoint of one behavior: a folder `<step>` with policy.safetensors, trainer.safetensors and state.json.

Where the buffer is saved too, replay.safetensors is beside them and state.json lists the files of its transitions.
state.json holds everything that is no array, and size and checksum of the array files, so that damage and files of
different saves are noticed before anything is taken over.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote
from zlib import crc32

from agents_core.contracts.buffer import Buffer
from agents_core.errors import UserError
from agents_core.training.saved_replay import SavedReplay, segments_from_tree, segments_to_tree
from agents_core.training.state_files import (
    DamagedFileError,
    StoredArray,
    UnsavableStateError,
    decode_arrays,
    dump_document,
    encode_arrays,
    parse_document,
)
from agents_core.training.state_tree import join_tree, split_tree

FORMAT = 1
POLICY_FILE = "policy.safetensors"
TRAINER_FILE = "trainer.safetensors"
REPLAY_FILE = "replay.safetensors"
STATE_FILE = "state.json"

_MAX_NAME = 200
_RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{port}{number}" for port in ("COM", "LPT") for number in range(1, 10))}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is to be saved of one behavior.

    Attributes:
        step: Decisions taken so far.
        policy: `Trainer.policy_state()`.
        trainer: `Trainer.state_dict()`.
        state: Counters, statistics and whatever else continuing needs, as plain values without arrays.
        buffer: What the trainer samples from, where that is to be saved.
    """

    step: int
    policy: Mapping[str, Any]
    trainer: Mapping[str, Any]
    state: Mapping[str, Any]
    buffer: Buffer | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A behavior's part of a save: which checkpoint folder, and the number of the save that wrote it."""

    step: int
    number: int


@dataclass(frozen=True, slots=True)
class PolicyCheckpoint:
    """What acting needs of a checkpoint.

    Attributes:
        behavior: Name of the behavior.
        step: Decisions taken when it was saved.
        policy: For `Trainer.load_policy_state`.
        state: Plain values that were saved with it.
        versions: Versions of core and plugins that wrote it, by distribution.
        path: Its folder.
    """

    behavior: str
    step: int
    policy: dict[str, Any]
    state: dict[str, Any]
    versions: dict[str, str]
    path: Path


@dataclass(frozen=True, slots=True)
class Checkpoint(PolicyCheckpoint):
    """A whole checkpoint.

    Attributes:
        trainer: For `Trainer.load_state_dict`.
        run: Plain values that belong to the whole run.
        number: Number of the save that wrote it.
        replay: What the trainer sampled from; None where it was not saved.
    """

    trainer: dict[str, Any]
    run: dict[str, Any]
    number: int
    replay: SavedReplay | None


def folder_name(behavior: str) -> str:
    """A name for the behavior's folder that every file system takes; `behavior_name` turns it back.

    Raises:
        UserError: The behavior has no name, or one that is too long.
    """
    name = quote(behavior, safe="").replace(".", "%2E")
    if name.upper() in _RESERVED:
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if not 0 < len(name) <= _MAX_NAME:
        raise UserError(f"behavior {behavior!r}: needs a name of 1 to {_MAX_NAME} bytes to be saved under")
    return name


def behavior_name(folder: str) -> str:
    """The behavior whose folder this is."""
    return unquote(folder)


def encode_checkpoint(
    behavior: str,
    snapshot: Snapshot,
    run: Mapping[str, Any],
    versions: Mapping[str, str],
    number: int,
    members: Mapping[str, Member],
    replay: SavedReplay | None = None,
) -> dict[str, bytes]:
    """The files of a checkpoint: content by file name.

    Args:
        behavior: Name of the behavior.
        snapshot: What to save of it.
        run: Plain values that belong to the whole run.
        versions: Versions of core and plugins, by distribution.
        number: Number of the save.
        members: Checkpoints of all behaviors that make up the run at this moment, this one among them.
        replay: What was written of the buffer.

    Raises:
        UnsavableStateError: A state holds something that cannot be saved.
    """
    policy, policy_arrays = split_tree(dict(snapshot.policy))
    trainer, trainer_arrays = split_tree(dict(snapshot.trainer))
    files = {POLICY_FILE: encode_arrays(policy_arrays), TRAINER_FILE: encode_arrays(trainer_arrays)}
    saved_replay: dict[str, Any] = {}
    if replay is not None:
        rest, rest_arrays = split_tree(dict(replay.rest))
        files[REPLAY_FILE] = encode_arrays(rest_arrays)
        saved_replay["replay"] = {"segments": segments_to_tree(replay.segments), "rest": rest}
    content = {
        "format": FORMAT,
        "behavior": behavior,
        "step": int(snapshot.step),
        "number": number,
        "members": {name: [int(member.step), member.number] for name, member in members.items()},
        "versions": dict(versions),
        "files": {name: {"bytes": len(data), "crc32": crc32(data)} for name, data in files.items()},
        "run": _split_plain("run", run),
        "state": _split_plain("state", snapshot.state),
        "policy": policy,
        "trainer": trainer,
        **saved_replay,
    }
    return {**files, STATE_FILE: dump_document({"crc32": _checksum(content), **content})}


def _split_plain(name: str, tree: Mapping[str, Any]) -> Any:
    document, arrays = split_tree(dict(tree))
    if arrays:
        raise UnsavableStateError(f"{name}: {next(iter(arrays))} is an array; keep arrays in the policy or the trainer")
    return document


def _checksum(content: Mapping[str, Any]) -> int:
    return crc32(json.dumps(content, separators=(",", ":")).encode())


def read_header(folder: Path) -> dict[str, Any]:
    """The content of a checkpoint's state.json, found whole.

    Raises:
        DamagedFileError: It is missing, damaged, or was changed.
        UserError: A newer version of agents wrote it.
    """
    path = folder / STATE_FILE
    content = parse_document(_read_bytes(path), path)
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise DamagedFileError(f"{path}: is damaged: it is no state of a checkpoint")
    if content["format"] > FORMAT:
        raise UserError(
            f"{path}: has format {content['format']}, this version reads up to {FORMAT}; "
            f"it was written by {content.get('versions')}"
        )
    if content.pop("crc32", None) != _checksum(content):
        raise DamagedFileError(f"{path}: is damaged: its content does not fit its checksum")
    return content


def read_members(header: Mapping[str, Any]) -> dict[str, Member]:
    """The checkpoints that made up the run when this one was saved."""
    return {name: Member(step, number) for name, (step, number) in header["members"].items()}


def read_policy(folder: Path) -> PolicyCheckpoint:
    """Read what acting needs: policy.safetensors and state.json.

    Raises:
        DamagedFileError: One of the two files is missing or damaged.
    """
    return PolicyCheckpoint(**_acting_part(folder, read_header(folder)))


def read_checkpoint(folder: Path) -> Checkpoint:
    """Read a whole checkpoint.

    Raises:
        DamagedFileError: One of its files is missing or damaged.
    """
    header = read_header(folder)
    return Checkpoint(
        **_acting_part(folder, header),
        trainer=join_tree(header["trainer"], _read_arrays(folder, TRAINER_FILE, header), folder / STATE_FILE),
        run=join_tree(header["run"], {}, folder / STATE_FILE),
        number=header["number"],
        replay=_read_replay(folder, header),
    )


def _read_replay(folder: Path, header: Mapping[str, Any]) -> SavedReplay | None:
    saved = header.get("replay")
    if saved is None:
        return None
    rest = join_tree(saved["rest"], _read_arrays(folder, REPLAY_FILE, header), folder / STATE_FILE)
    return SavedReplay(segments_from_tree(saved["segments"]), rest)


def _acting_part(folder: Path, header: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "behavior": header["behavior"],
        "step": header["step"],
        "policy": join_tree(header["policy"], _read_arrays(folder, POLICY_FILE, header), folder / STATE_FILE),
        "state": join_tree(header["state"], {}, folder / STATE_FILE),
        "versions": header["versions"],
        "path": folder,
    }


def _read_arrays(folder: Path, name: str, header: Mapping[str, Any]) -> dict[str, StoredArray]:
    path = folder / name
    data = _read_bytes(path)
    expected = header["files"][name]
    if len(data) != expected["bytes"]:
        raise DamagedFileError(f"{path}: is damaged: it has {len(data)} bytes, {expected['bytes']} were saved")
    if crc32(data) != expected["crc32"]:
        raise DamagedFileError(f"{path}: is damaged: its content does not fit the checksum in {STATE_FILE}")
    return decode_arrays(data, path)


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DamagedFileError(f"{path}: is missing") from error
    except OSError as error:
        raise DamagedFileError(f"{path}: cannot be read: {error.strerror}") from error
