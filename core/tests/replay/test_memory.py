"""What memory a replay buffer takes: what was compared before the start at most, and none for rows nobody wrote."""

from __future__ import annotations

import ctypes
import mmap
import sys
import tracemalloc

import numpy as np
import pytest
from agents_core.errors import UserError
from agents_core.replay import free_memory
from agents_core.replay.layout import usual_fields
from agents_core.replay.linked_rows import most_bytes
from agents_core.replay.steady_rows import SteadyRows
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from replay_model import SMALL_SPEC, SPEC, World, columns, contents, make_buffer

IMAGES = BehaviorSpec((ObservationSpec("image", (84, 84, 1), "uint8", "image"),), ActionSpec(1))
IMAGE = 84 * 84
FEW_IMAGES = 40 * IMAGE
"""What a test may take besides, such as for the transitions that it adds."""


def test_less_memory_than_short_episodes_may_take_is_warned_of(monkeypatch, caplog):
    most = most_bytes(400, usual_fields(IMAGES, 0).values())
    monkeypatch.setattr(free_memory, "free_memory", lambda: most)
    make_buffer(400, IMAGES)
    assert not caplog.records
    monkeypatch.setattr(free_memory, "free_memory", lambda: most - 1)
    make_buffer(400, IMAGES)
    assert "400 transitions need 5.7 MB of memory, up to 8.5 MB where episodes are short" in caplog.text


def test_memory_that_the_system_does_not_give_is_an_error_of_the_option(monkeypatch):
    def refuse(*_):
        raise MemoryError

    monkeypatch.setattr("agents_core.replay.buffer.SteadyRows", refuse)
    monkeypatch.setattr(free_memory, "free_memory", lambda: 7_000_000)
    fits = 400 * 7_000_000 // most_bytes(400, usual_fields(IMAGES, 0).values())
    message = rf"buffer_size: 400 transitions need 8\.5 MB .* the system does not give it; about {fits} would fit"
    with pytest.raises(UserError, match=message):
        make_buffer(400, IMAGES)


@pytest.mark.parametrize("at_once", [1, 5])
def test_no_episodes_take_more_memory_than_was_compared_with_what_is_free(at_once):
    size = 400
    most = most_bytes(size, usual_fields(IMAGES, 0).values())
    world = World(IMAGES, masked=False)
    tracemalloc.start()
    try:
        buffer = make_buffer(size, IMAGES)
        for _ in range(2 * size // at_once):
            buffer.add(columns([world.act(agent, "terminated") for agent in range(at_once)]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= most + FEW_IMAGES
    assert most <= 2.3 * size * IMAGE + 512 * IMAGE  # Two images each, and those that the ring is larger.


def test_field_that_comes_late_copies_nothing_that_is_here():
    size = 400
    world, buffer = World(IMAGES, masked=False), make_buffer(size, IMAGES)
    for _ in range(size):
        buffer.add(columns([world.act(0)]))
    tracemalloc.start()
    try:
        buffer.add(columns([{**world.act(0), "group_reward": np.float32(2.0)}]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < FEW_IMAGES
    assert [row["group_reward"] for row in contents(buffer)] == [0.0] * (size - 1) + [2.0]


def resident(array):
    """Bytes of an array that lie in pages that the system has given out."""
    start = array.__array_interface__["data"][0]
    first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = np.zeros((start + array.nbytes - first) // mmap.PAGESIZE, np.uint8)
    address, length = ctypes.c_void_p(first), ctypes.c_size_t(len(pages) * mmap.PAGESIZE)
    assert ctypes.CDLL(None).mincore(address, length, ctypes.c_void_p(pages.ctypes.data)) == 0
    return int((pages & 1).sum()) * mmap.PAGESIZE


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which pages are there")
def test_rows_that_nobody_wrote_take_no_memory():
    rows = SteadyRows(40_000, usual_fields(IMAGES, 0))
    world = World(IMAGES, masked=False)
    rows.add(columns([{**world.act(0, "terminated"), "group_reward": np.float32(1.0)}]).fields)
    for _ in range(1000):
        rows.add(columns([world.act(0)]).fields)
    images = rows.store.columns["obs.0"]
    assert images.nbytes > 200 * 2**20
    assert 1000 * IMAGE <= resident(images) <= 1000 * IMAGE + 8 * 2**20  # Pages may be of 2 MiB.


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which pages are there")
def test_masks_that_come_late_fill_written_rows_only():
    rows = SteadyRows(1_000_000, usual_fields(SPEC, 0))
    world = World(masked=False)
    rows.add(columns([world.act(0)]).fields)
    world.masked = True
    rows.add(columns([world.act(1)]).fields)
    memory = rows.store.columns["agent_id"].base
    assert memory.nbytes > 60 * 2**20
    assert resident(memory) <= 8 * 2**20


def test_rows_side_by_side_stay_so_with_a_field_that_comes_with_the_first_transition():
    rows = SteadyRows(10, usual_fields(SMALL_SPEC, 0))
    rows.add(columns([{**World(SMALL_SPEC, masked=False).act(0), "group_reward": np.float32(1.0)}]).fields)
    assert "group_reward" in rows.store.side_by_side.columns
