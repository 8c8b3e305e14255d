"""Taking single records apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from google.protobuf.message import DecodeError

from agents_env_unity.demo.blocks import Block
from agents_env_unity.demo.observations import ObservationReader, PngReader, RecordError, observation_reader
from agents_env_unity.demo.stream import write_varint
from agents_env_unity.messages.records_pb2 import RawFlatRecord, RawObservation, RawPair


class RecordReader(Protocol):
    """Reads records of one kind; it is made with the first one, which tells what agents see."""

    @property
    def observations(self) -> Sequence[ObservationReader]:
        """One for each observation."""

    def take(self, data: bytes, block: Block) -> None:
        """Keep what the record holds.

        Raises:
            RecordError, DecodeError: It is damaged.
        """


def is_pair(data: bytes) -> bool:
    """Whether a record is a pair of agent info and action: as such, it holds observations and nothing else."""
    try:
        pair = RawPair.FromString(data)
    except DecodeError:
        return False
    return len(pair.agent_info.observations) > 0


class PairRecords:
    """Agent info and action side by side."""

    def __init__(self, first: bytes) -> None:
        info = RawPair.FromString(first).agent_info
        self.observations = [observation_reader(seen, i) for i, seen in enumerate(info.observations)]

    def take(self, data: bytes, block: Block) -> None:
        pair = RawPair.FromString(data)
        info, action = pair.agent_info, pair.action_info
        seen = info.observations
        _take_observations(self.observations, seen)
        block.add(
            (info.reward, info.done, info.max_step_reached, info.id, info.group_id, info.group_reward),
            info.action_mask,
        )
        continuous, discrete = action.continuous_actions, action.discrete_actions
        if continuous or discrete:
            block.add_action(continuous, discrete)
        else:
            block.add_deprecated_action(action.vector_actions_deprecated)


class FlatRecords:
    """Agent info of early releases: images and a vector in fields of their own, or later a list of observations."""

    def __init__(self, first: bytes) -> None:
        record = RawFlatRecord.FromString(first)
        self.observations: list[ObservationReader] = []
        for seen in (*record.observations, *_images(record)):
            index = len(self.observations)
            reader = observation_reader(seen, index) if seen.shape else PngReader(seen, f"obs_{index}", None)
            self.observations.append(reader)
        self._vector_shape = write_varint(len(record.vector_observation) // 4)
        if record.vector_observation:
            vector = RawObservation(shape=self._vector_shape)
            self.observations.append(observation_reader(vector, len(self.observations)))
        if not self.observations:
            raise RecordError("no observation in it; it is neither a pair nor an agent info of an early release")

    def take(self, data: bytes, block: Block) -> None:
        record = RawFlatRecord.FromString(data)
        seen = [*record.observations, *_images(record)]
        if record.vector_observation:
            vector = RawObservation(shape=self._vector_shape)
            vector.float_data.data = record.vector_observation
            seen.append(vector)
        _take_observations(self.observations, seen)
        block.add((record.reward, record.done, record.max_step_reached, record.id, 0, 0.0), record.action_mask)
        block.add_deprecated_action(record.stored_vector_actions)


def _images(record: RawFlatRecord) -> list[RawObservation]:
    return [RawObservation(compressed_data=data) for data in record.visual_observations]


def _take_observations(readers: Sequence[ObservationReader], seen: Sequence[RawObservation]) -> None:
    if len(seen) != len(readers):
        raise RecordError(f"{len(seen)} observations, {len(readers)} in the first record")
    for reader, observation in zip(readers, seen, strict=True):
        reader.take(observation)
