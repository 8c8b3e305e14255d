"""A decoder of `.demo` files made from the description of their fields alone: no message class, no code of the project.

Every message becomes a dict from field number to the list of its values: int, float or bytes.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

Message = dict[int, list[Any]]


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Message:
    message: Message = {}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        value: Any
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            assert kind == 5, f"wire type {kind} is not in the tables"
            (value,) = struct.unpack_from("<f", data, at)
            at += 4
        message.setdefault(tag >> 3, []).append(value)
    assert at == len(data)
    return message


def packed_ints(message: Message, number: int) -> list[int]:
    data, at, values = b"".join(message.get(number, [])), 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def packed_floats(message: Message, number: int) -> list[float]:
    data = b"".join(message.get(number, []))
    return list(struct.unpack(f"<{len(data) // 4}f", data))


@dataclass
class Record:
    observations: list[np.ndarray[Any, Any]]
    names: list[str]
    shapes: list[list[int]]
    dimensions: list[list[int]]
    continuous: list[float]
    discrete: list[int]
    deprecated: list[float]
    reward: float
    group_reward: float
    done: bool
    max_step_reached: bool
    agent: int
    group: int
    forbidden: list[bool]


@dataclass
class DemoFile:
    metadata: Message
    padding: bytes
    brain: Message
    action_spec: Message
    records: list[Record]
    tail: bytes


def read(path: Path) -> DemoFile:
    data = path.read_bytes()
    length, at = varint(data, 0)
    metadata = fields(data[at : at + length])
    padding = data[at + length : 33]
    length, at = varint(data, 33)
    brain = fields(data[at : at + length])
    at += length
    records = []
    for _ in range(metadata[3][0]):
        length, at = varint(data, at)
        records.append(_record(fields(data[at : at + length])))
        at += length
    return DemoFile(metadata, padding, brain, fields(brain[9][0]), records, data[at:])


def _record(pair: Message) -> Record:
    assert set(pair) <= {1, 2}
    info, action = fields(pair[1][0]), fields(pair.get(2, [b""])[0])
    assert set(info) <= {7, 8, 9, 10, 11, 13, 14, 15}
    assert set(action) <= {1, 6, 7}
    seen = [fields(observation) for observation in info[13]]
    return Record(
        observations=[_array(one) for one in seen],
        names=[one.get(8, [b""])[0].decode() for one in seen],
        shapes=[packed_ints(one, 1) for one in seen],
        dimensions=[packed_ints(one, 6) for one in seen],
        continuous=packed_floats(action, 6),
        discrete=packed_ints(action, 7),
        deprecated=packed_floats(action, 1),
        reward=info.get(7, [0.0])[0],
        group_reward=info.get(15, [0.0])[0],
        done=bool(info.get(8, [0])[0]),
        max_step_reached=bool(info.get(9, [0])[0]),
        agent=info.get(10, [0])[0],
        group=info.get(14, [0])[0],
        forbidden=[bool(value) for value in packed_ints(info, 11)],
    )


def _array(observation: Message) -> np.ndarray[Any, Any]:
    """The observation in the shape on the wire; of images the first channels of all PNG files."""
    shape = packed_ints(observation, 1)
    if observation.get(2, [0])[0] == 0:
        return np.array(packed_floats(fields(observation.get(4, [b""])[0]), 1), np.float32).reshape(shape)
    signature = b"\x89PNG\r\n\x1a\n"
    parts = observation[3][0].split(signature)
    assert parts[0] == b""
    images = [np.asarray(Image.open(io.BytesIO(signature + part))) for part in parts[1:]]
    channels = np.concatenate([image.reshape(*image.shape[:2], -1) for image in images], axis=2)
    return np.moveaxis(channels, 2, 0)[: shape[0]]
