"""What the small `.demo` files are put together from."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from agents_env_unity.demo.stream import write_varint
from agents_env_unity.messages.agent_pb2 import (
    PNG,
    AgentActionProto,
    AgentInfoProto,
    BrainParametersProto,
    ObservationProto,
)
from agents_env_unity.messages.demonstration_pb2 import AgentInfoActionPairProto, DemonstrationMetaProto
from PIL import Image


def pair(seen: Sequence[ObservationProto], action: AgentActionProto, **info: Any) -> bytes:
    return AgentInfoActionPairProto(
        agent_info=AgentInfoProto(observations=seen, **info), action_info=action
    ).SerializeToString()


def vector(*numbers: float, **fields: Any) -> ObservationProto:
    return ObservationProto(
        shape=[len(numbers)],
        float_data=ObservationProto.FloatData(data=numbers),
        dimension_properties=[1],
        **{"name": "x", **fields},
    )


def act(continuous: Sequence[float] = (), discrete: Sequence[int] = ()) -> AgentActionProto:
    return AgentActionProto(continuous_actions=continuous, discrete_actions=discrete)


def old(*numbers: float) -> AgentActionProto:
    return AgentActionProto(vector_actions_deprecated=numbers)


def png(pixels: Any) -> bytes:
    written = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).save(written, "PNG")
    return written.getvalue()


def colours(step: int) -> np.ndarray[Any, Any]:
    """uint8[2, 4, 3]: every number another."""
    return (np.arange(24).reshape(2, 4, 3) * 5 + step).astype(np.uint8)


def image(data: bytes, shape: Sequence[int], **fields: Any) -> ObservationProto:
    return ObservationProto(shape=shape, compression_type=PNG, compressed_data=data, **fields)


def delimited(message: bytes) -> bytes:
    return write_varint(len(message)) + message


def write_file(
    file: Path,
    brain: BrainParametersProto,
    records: Sequence[bytes],
    *,
    steps: int | None = None,
    episodes: int = 1,
    tail: bool = True,
    keep: int | None = None,
    api_version: int = 1,
    title: str = "Walk",
) -> None:
    """Write a file.

    Args:
        file: Where.
        brain: What the agents do.
        records: Encoded, without their lengths.
        steps: What the head says of their number; None = the truth, 0 (with no episodes) = never closed.
        episodes: What the head says.
        tail: Whether the metadata stands at the end too.
        keep: Bytes of the file that are left; negative = so many less.
        api_version: What the head says.
        title: Name of the demonstration.
    """
    meta = DemonstrationMetaProto(
        api_version=api_version,
        demonstration_name=title,
        number_steps=len(records) if steps is None else steps,
        number_episodes=episodes,
    ).SerializeToString()
    body = delimited(brain.SerializeToString()) + b"".join(map(delimited, records))
    head = delimited(meta).ljust(33, b"\0")
    whole = head[:33] + body + (meta if tail else b"")
    file.write_bytes(whole[:keep])
