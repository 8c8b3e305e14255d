"""A buffer that keeps to the contract, and one for each way not to."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from agents_core.columns import Array, Batch, Columns
from agents_core.contracts.buffer import Buffer, BufferContext
from agents_core.plugin import BufferSpec, hookimpl
from agents_core.replay.config import ReplayConfig


class Right(Buffer):
    """A list of rows, slow and plain."""

    def __init__(self, context: BufferContext[ReplayConfig]) -> None:
        self.capacity = context.config.buffer_size
        self.rows: list[dict[str, Array]] = []

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, transitions: Columns) -> None:
        for place in range(len(transitions)):
            self.rows.append(self.row(transitions, place))
        del self.rows[: max(0, len(self.rows) - self.capacity)]

    def row(self, transitions: Columns, place: int) -> dict[str, Array]:
        return {name: np.array(array[place]) for name, array in transitions.fields.items()}

    def sample(self, batch_size: int, generator: np.random.Generator) -> Batch:
        return self.batch(self.draw(batch_size, generator))

    def draw(self, count: int, generator: np.random.Generator) -> Any:
        return generator.integers(0, len(self.rows), count)

    def batch(self, places: Any, **further: Array) -> Batch:
        fields = {name: np.stack([self.rows[place][name] for place in places]) for name in self.rows[0]}
        fields |= {"row": np.asarray(places, np.int64), **further}
        return Batch({name: torch.from_numpy(array) for name, array in fields.items()}, len(places))

    def sample_sequences(self, count: int, length: int, generator: np.random.Generator) -> Batch:
        places, valid = [], []
        for start in self.draw(count, generator):
            place: int | None = int(start)
            for _ in range(length):
                valid.append(place is not None)
                places.append(places[-1] if place is None else place)
                place = None if place is None else self.successor(place)
        return self.batch(places, is_valid=np.array(valid))

    def successor(self, place: int) -> int | None:
        for later in range(place + 1, len(self.rows)):
            if all(self.rows[later][name] == self.rows[place][name] for name in ("agent_id", "episode_id")):
                return later
        return None

    def state_dict(self) -> dict[str, Any]:
        return {"rows": [dict(row) for row in self.rows]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.rows = [dict(row) for row in state["rows"]]


class LosesFinals(Right):
    """Where an episode ends, the next observation is the one before."""

    def row(self, transitions: Columns, place: int) -> dict[str, Array]:
        row = super().row(transitions, place)
        return {**row, "next_obs.0": row["obs.0"]} if row["terminated"] else row


class StoresFloats(Right):
    def row(self, transitions: Columns, place: int) -> dict[str, Array]:
        row = super().row(transitions, place)
        return {name: array.astype(np.float32) if name.startswith("obs.") else array for name, array in row.items()}


class GivesFewer(Right):
    def draw(self, count: int, generator: np.random.Generator) -> Any:
        places = super().draw(count, generator)
        return places[: len(self.rows)] if count == 64 and len(self.rows) < 12 else places


class KeepsTooMany(Right):
    def __init__(self, context: BufferContext[ReplayConfig]) -> None:
        super().__init__(context)
        self.capacity += 1


class NeverDrawsTheLast(Right):
    def draw(self, count: int, generator: np.random.Generator) -> Any:
        return generator.integers(0, max(1, len(self.rows) - 1), count)


class PrefersTheOld(Right):
    def draw(self, count: int, generator: np.random.Generator) -> Any:
        return (len(self.rows) * generator.random(count) ** 1.3).astype(np.int64)


class CrossesEpisodes(Right):
    def successor(self, place: int) -> int | None:
        for later in range(place + 1, len(self.rows)):
            if self.rows[later]["agent_id"] == self.rows[place]["agent_id"]:
                return later
        return None


class StopsEarly(Right):
    def successor(self, place: int) -> int | None:
        return super().successor(place) if place % 3 else None


class NeedsTwo(Right):
    def draw(self, count: int, generator: np.random.Generator) -> Any:
        if len(self.rows) == 1:
            raise ZeroDivisionError
        return super().draw(count, generator)


class OwnGenerator(Right):
    def draw(self, count: int, generator: np.random.Generator) -> Any:
        del generator
        return np.random.default_rng(len(self.rows)).integers(0, len(self.rows), count)


class DrawsGlobally(Right):
    def draw(self, count: int, generator: np.random.Generator) -> Any:
        random.random()
        return super().draw(count, generator)


class KeepsViews(Right):
    def row(self, transitions: Columns, place: int) -> dict[str, Array]:
        row = super().row(transitions, place)
        return {**row, "obs.0": transitions["obs.0"][place]}


class ClipsInPlace(Right):
    def add(self, transitions: Columns) -> None:
        super().add(transitions)
        transitions["reward"].fill(0)


class GivesItself(Right):
    """Samples share one array, which the next addition overwrites."""

    shared: Batch | None = None

    def sample(self, batch_size: int, generator: np.random.Generator) -> Batch:
        self.shared = super().sample(batch_size, generator)
        return self.shared

    def add(self, transitions: Columns) -> None:
        super().add(transitions)
        if self.shared is not None:
            self.shared["truncated"].zero_()
            self.shared["obs.0"].zero_()


class SavesTuples(Right):
    def state_dict(self) -> dict[str, Any]:
        return {"rows": tuple(super().state_dict()["rows"])}


class ForgetsTheOldest(Right):
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({"rows": state["rows"][1:]})


class Numbered(Right):
    """Exported by piece, rightly."""

    total = 0

    def add(self, transitions: Columns) -> None:
        self.total += len(transitions)
        super().add(transitions)

    @property
    def stored(self) -> range:
        return range(self.total - len(self.rows), self.total)

    def export(self, numbers: range) -> dict[str, Array]:
        rows = [self.rows[number - self.stored.start] for number in numbers]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    def export_rest(self) -> dict[str, Any]:
        return {"stored": [self.stored.start, self.stored.stop]}

    def restore(self, pieces: Any, rest: Mapping[str, Any]) -> None:
        self.rows = []
        for _, piece in pieces:
            columns = Columns(piece)
            self.rows += [super(Numbered, self).row(columns, place) for place in range(len(columns))]
        self.total = rest["stored"][1]
        self.rows = self.rows[len(self.rows) - (self.total - rest["stored"][0]) :]

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "total": self.total}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.total = state["total"]


class LosesPieces(Numbered):
    def restore(self, pieces: Any, rest: Mapping[str, Any]) -> None:
        super().restore(list(pieces)[-1:], rest)


class IgnoresErrors(Right):
    def batch(self, places: Any, **further: Array) -> Batch:
        return super().batch(places, weight=np.ones(len(places), np.float32), **further)


class HashesNames(Right):
    def draw(self, count: int, generator: np.random.Generator) -> Any:
        return np.random.default_rng(hash("rows") % 2**31).permutation(len(self.rows))[super().draw(count, generator)]


EXPECTED = {
    LosesFinals: "test_samples_are_what_was_added",
    StoresFloats: "test_samples_are_what_was_added",
    GivesFewer: "test_batches_have_the_size_asked_for",
    KeepsTooMany: "test_the_oldest_are_dropped",
    NeverDrawsTheLast: "test_every_transition_can_be_drawn",
    PrefersTheOld: "test_sampling_is_even",
    CrossesEpisodes: "test_sequences_keep_to_one_episode",
    StopsEarly: "test_sequences_keep_to_one_episode",
    NeedsTwo: "test_one_transition_is_enough",
    OwnGenerator: "test_only_the_given_generator_is_used",
    DrawsGlobally: "test_the_process_is_left_alone",
    KeepsViews: "test_added_arrays_may_be_reused",
    ClipsInPlace: "test_added_arrays_stay_as_they_are",
    GivesItself: "test_samples_are_the_caller_s",
    SavesTuples: "test_the_state_can_be_saved",
    ForgetsTheOldest: "test_a_loaded_state_goes_on",
    LosesPieces: "test_pieces_that_were_exported_go_on",
    IgnoresErrors: "test_errors_raise_priorities",
    HashesNames: "test_a_spawned_process_computes_the_same",
}
"""The one check that each fails."""


@hookimpl
def agents_buffers() -> list[BufferSpec]:
    return [
        BufferSpec(
            name=buffer.__name__.lower(),
            summary="A test buffer",
            config="agents_core.replay.config:ReplayConfig",
            factory=f"faulty_buffers:{buffer.__name__}",
        )
        for buffer in (Right, Numbered, *EXPECTED)
    ]
