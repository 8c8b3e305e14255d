"""The head of a `.demo` file: metadata in the first 33 bytes, then what the agents do.

Actions are read from `action_spec` if it has any, else from the fields of older releases.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agents_core.spec import ActionSpec
from google.protobuf.message import DecodeError

from agents_env_unity.demo.errors import damaged
from agents_env_unity.demo.stream import CutError, messages, read_varint
from agents_env_unity.messages.agent_pb2 import BrainParametersProto
from agents_env_unity.messages.demonstration_pb2 import DemonstrationMetaProto

BRAIN_OFFSET = 33
"""Where brain parameters begin, however long the metadata is."""
API_VERSIONS = (0, 1)

_CONTINUOUS = 1
_POINTER = b"version https://git-lfs"


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the records.

    Attributes:
        metadata: As written last; without counts where the recording was not closed.
        behavior: Name of the behavior.
        action: What the agents do.
        records_offset: Byte at which the first record begins.
    """

    metadata: DemonstrationMetaProto
    behavior: str
    action: ActionSpec
    records_offset: int

    @property
    def is_closed(self) -> bool:
        """Whether the recorder came to write the counts."""
        return self.metadata.number_steps > 0 or self.metadata.number_episodes > 0


def read_head(file: BinaryIO, path: Path, size: int) -> Head:
    """Read and check metadata and brain parameters.

    Raises:
        DemonstrationError: The file is none, or its head is damaged or cut.
    """
    start = file.read(BRAIN_OFFSET)
    if not start:
        raise damaged(path, 0, "the file is empty")
    if start.startswith(_POINTER):
        raise damaged(path, 0, "this is a Git LFS pointer, not the recording; fetch it with `git lfs pull`")
    metadata = _metadata(start, path)
    if size <= BRAIN_OFFSET:
        raise damaged(path, size, f"the file ends here, in the head; the agents should be described at {BRAIN_OFFSET}")
    try:
        end, data = next(messages(file, path, BRAIN_OFFSET, size))
        brain = BrainParametersProto.FromString(data)
    except CutError as error:
        raise damaged(path, error.offset, f"{error.reason} (brain parameters)") from None
    except DecodeError:
        raise damaged(path, BRAIN_OFFSET, "brain parameters cannot be decoded") from None
    if metadata.api_version not in API_VERSIONS:
        raise damaged(path, 0, f"API version {metadata.api_version} is not known; files have 0 or 1")
    return Head(metadata, brain.brain_name, _action(brain, path), end)


def _metadata(start: bytes, path: Path) -> DemonstrationMetaProto:
    try:
        length, at = read_varint(start, 0)
        if at + length > BRAIN_OFFSET:
            raise damaged(
                path,
                0,
                f"metadata of {length} bytes; at most {BRAIN_OFFSET - 1} fit. Its name is too long, or "
                "this is no recording",
            )
        if at + length > len(start):
            raise damaged(path, len(start), "the file ends here, within its metadata")
        metadata: DemonstrationMetaProto = DemonstrationMetaProto.FromString(start[at : at + length])
    except (IndexError, ValueError, DecodeError):
        raise damaged(path, 0, "the metadata cannot be decoded: this is no recording, or its head is damaged") from None
    return metadata


def _action(brain: BrainParametersProto, path: Path) -> ActionSpec:
    spec = brain.action_spec
    try:
        if spec.num_continuous_actions > 0 or spec.num_discrete_actions > 0:
            if len(spec.discrete_branch_sizes) != spec.num_discrete_actions:
                raise ValueError(
                    f"{spec.num_discrete_actions} discrete actions, but {len(spec.discrete_branch_sizes)} branch sizes"
                )
            return ActionSpec(spec.num_continuous_actions, tuple(spec.discrete_branch_sizes))
        sizes = tuple(brain.vector_action_size_deprecated)
        if brain.vector_action_space_type_deprecated == _CONTINUOUS:
            return ActionSpec(sum(sizes[:1]))
        return ActionSpec(0, sizes)
    except ValueError as error:
        raise damaged(path, BRAIN_OFFSET, f"brain parameters: {error}") from None
