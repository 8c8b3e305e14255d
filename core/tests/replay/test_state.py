"""What a buffer says of itself is what it holds, whatever it held and said before."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from agents_core.replay.steady_rows import SteadyRows
from replay_model import SMALL_SPEC, World, columns, make_buffer


def filled(steps, agents, buffer_size=50):
    world, buffer = World(SMALL_SPEC, masked=False), make_buffer(buffer_size, SMALL_SPEC)
    for _ in range(steps):
        buffer.add(columns([world.act(agent) for agent in agents]))
    return buffer


@pytest.mark.parametrize("said", ["everything", "pieces"])
def test_buffer_that_takes_over_another_forgets_what_it_said_before(said):
    buffer, other = filled(40, [0]), filled(20, [0, 1])
    if said == "everything":
        buffer.state_dict()
    else:
        buffer.export(buffer.stored)
    state = other.state_dict()
    assert state["rows"]["predecessor"][:6].tolist() == [-1, -1, 0, 1, 2, 3]
    buffer.load_state_dict(state)
    assert buffer.state_dict()["rows"]["predecessor"].tolist() == state["rows"]["predecessor"].tolist()


@pytest.mark.parametrize("sequences", [False, True])
def test_what_was_put_off_is_written_down_once_per_minibatch(sequences, monkeypatch):
    buffer, calls = filled(40, [0]), []
    note = SteadyRows.note
    monkeypatch.setattr(SteadyRows, "note", lambda rows: calls.append(rows) or note(rows))
    rng = np.random.default_rng(0)
    batch = buffer.sample_sequences(4, 3, rng) if sequences else buffer.sample(4, rng)
    assert len(calls) == 1
    assert (batch["episode_id"] == 0).all()


def test_saving_takes_no_memory_that_stays():
    buffer = filled(100, [0], buffer_size=20_000)
    tracemalloc.start()
    try:
        for numbers in (range(50), range(50, 100)):
            buffer.export(numbers)
        buffer.export_rest()
        left = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert left < 20_000 * np.dtype(np.int64).itemsize / 2
