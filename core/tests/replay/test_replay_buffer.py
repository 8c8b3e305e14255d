"""The replay buffer against a list of transitions, whatever comes in which order."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from agents_core.columns import Columns
from agents_core.replay import layout, linked_rows, steady_rows, writing
from agents_core.replay.layout import usual_fields
from agents_core.replay.steady_rows import SteadyRows
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_model import (
    SMALL_SPEC,
    SPEC,
    EveryRow,
    NaiveBuffer,
    World,
    batch_rows,
    columns,
    contents,
    identity,
    make_buffer,
)

ACTS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(["", "", "", "terminated", "truncated"])), min_size=1, max_size=12
)
EVENTS = st.lists(st.one_of(ACTS, st.just("restart"), st.just("again"), st.just("reload")), min_size=1, max_size=25)


def check_equal(buffer, naive):
    assert len(buffer) == len(naive.transitions)
    assert sorted(map(identity, contents(buffer))) == sorted(map(identity, naive.transitions))


def check_sequences(buffer, naive, length):
    batch = buffer.sample_sequences(len(buffer), length, EveryRow())
    rows = batch_rows(batch)
    place = {identity(transition): i for i, transition in enumerate(naive.transitions)}
    starts = set()
    for sequence in (rows[i : i + length] for i in range(0, len(rows), length)):
        start = place[identity(sequence[0])]
        starts.add(start)
        valid = [row for row in sequence if row["is_valid"]]
        assert [row["is_valid"] for row in sequence] == sorted((row["is_valid"] for row in sequence), reverse=True)
        assert list(map(identity, valid)) == list(map(identity, naive.sequence(start, length)))
    assert len(starts) == len(naive.transitions)


def play(events, buffer_size, spec=SPEC, masked=True):
    """Let agents act; the buffer and the naive one after all of it."""
    world, buffer, naive = World(spec, masked), make_buffer(buffer_size, spec), NaiveBuffer(buffer_size)
    acts = [(0, "")]
    for event in events:
        if event == "restart":
            world.restart()
            continue
        if event == "reload":
            state = buffer.state_dict()
            buffer = make_buffer(buffer_size, spec)
            buffer.load_state_dict(state)
            continue
        acts = acts if event == "again" else event
        transitions = [world.act(agent, end) for agent, end in acts]
        given = columns(transitions)
        buffer.add(given)
        for array in given.fields.values():  # The arrays may be reused.
            array[...] = 0
        naive.add(transitions)
        check_equal(buffer, naive)
    return buffer, naive


@settings(max_examples=150, deadline=None)
@given(st.lists(ACTS, min_size=1, max_size=2), EVENTS, st.integers(1, 40), st.integers(1, 5))
def test_holds_what_a_list_of_the_newest_transitions_holds(first, events, buffer_size, length):
    buffer, naive = play([*first, *events], buffer_size)
    check_sequences(buffer, naive, length)


@settings(max_examples=60, deadline=None)
@given(EVENTS, st.integers(1, 40))
def test_spec_of_vectors_alone_without_masks(events, buffer_size):
    buffer, naive = play([[(0, "")], *events], buffer_size, SMALL_SPEC, masked=False)
    check_sequences(buffer, naive, 4)


@pytest.mark.parametrize("agents", [1, 3, 8])
@pytest.mark.parametrize("buffer_size", [16, 50])
def test_agents_that_always_act_together_over_many_wraps(agents, buffer_size):
    together = [
        [(agent, "truncated" if step % 37 == 36 and agent < 2 else "") for agent in range(agents)]
        for step in range(120)
    ]
    buffer, naive = play(together, buffer_size)
    check_sequences(buffer, naive, 7)


def test_agent_that_acts_rarely_among_others_that_act_often():
    rarely = [[(0, ""), *((1, "") for _ in range(1))] if step % 30 == 0 else [(1, "")] for step in range(100)]
    buffer, naive = play(rarely, 20)
    check_sequences(buffer, naive, 5)


def test_more_ends_than_rows_were_reserved_for():
    buffer, naive = play([[(agent, "terminated") for agent in range(9)] for _ in range(40)], 300)
    check_sequences(buffer, naive, 3)
    assert len(buffer) == 300


def test_one_add_larger_than_the_buffer_keeps_the_newest():
    buffer, naive = play([[(step % 3, "") for step in range(100)]], 7)
    check_sequences(buffer, naive, 3)


def test_fields_that_come_later_were_absent_before():
    world, buffer = World(masked=False), make_buffer(10)
    buffer.add(columns([world.act(0)]))
    world.masked = True
    late = world.act(1)
    buffer.add(columns([{**late, "group_reward": np.float32(2.0)}]))
    world.masked = False
    buffer.add(columns([world.act(2)]))
    first, second, third = contents(buffer)
    for without in (first, third):
        assert without["action_mask"].all()
        assert without["next_action_mask"].all()
        assert without["group_reward"] == 0
    assert (second["next_action_mask"] == late["next_action_mask"]).all()
    assert second["group_reward"] == 2


def test_other_fields_of_the_same_number_do_not_slip_in():
    world, buffer = World(SMALL_SPEC, masked=False), make_buffer(10, SMALL_SPEC)
    for name in ("group_reward", "extra", "group_reward"):
        buffer.add(columns([{**world.act(0), name: np.float32(1.0)}]))
    assert [(row["group_reward"], row["extra"]) for row in contents(buffer)] == [(1, 0), (0, 1), (1, 0)]


def test_observations_keep_their_dtype():
    buffer, _ = play([[(0, "")]], 4)
    batch = buffer.sample(3, np.random.default_rng(0))
    assert [str(batch[f"next_obs.{i}"].dtype) for i in range(3)] == ["torch.float32", "torch.uint8", "torch.float64"]
    assert batch["obs.1"].shape == (3, 2, 3, 1)


def test_every_transition_is_equally_likely():
    buffer, _ = play([[(agent, "") for agent in range(5)] for _ in range(10)], 40)
    rng = np.random.default_rng(3)
    rows = np.concatenate([buffer.sample(100, rng)["row"].numpy() for _ in range(400)])
    counts = np.unique(rows, return_counts=True)[1]
    assert len(counts) == 40
    expected = 40_000 / 40
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert chi_square < 72.1  # Of 39 degrees of freedom 99.9 % lie below.


def test_sampling_follows_from_the_generator_alone():
    buffer, _ = play([[(0, ""), (1, "")] for _ in range(20)], 30)
    one, other = (buffer.sample(16, np.random.default_rng(5)) for _ in range(2))
    assert (one["row"] == other["row"]).all()
    assert (one["obs.0"] == other["obs.0"]).all()


@settings(max_examples=80, deadline=None)
@given(
    st.integers(1, 5),
    st.lists(
        st.sampled_from(["", "", "", "", "end", "restart", "reload", "sample", "other", "refused"]),
        min_size=5,
        max_size=80,
    ),
    st.integers(1, 40),
    st.integers(0, 2**32 - 1),
    st.sampled_from(
        [(2, 3, 3, 2**18), (6, 4, 7, 2**18), (6, 4, 7, 100), (512, 2048, 2048, 1000), (512, 2048, 2048, 2**18)]
    ),
)
def test_agents_that_mostly_act_together(agents, events, buffer_size, seed, sizes):
    modules = {"AHEAD": linked_rows, "_SCAN": linked_rows, "_PUT_OFF": steady_rows, "_CACHED": writing}
    with pytest.MonkeyPatch.context() as patch:
        for (name, module), size in zip(modules.items(), sizes, strict=True):
            patch.setattr(module, name, size)
        rng = np.random.default_rng(seed)
        world, buffer, naive = World(), make_buffer(buffer_size), NaiveBuffer(buffer_size)
        for event in events:
            if event == "restart":
                world.restart()
            if event == "reload":
                state, buffer = buffer.state_dict(), make_buffer(buffer_size)
                buffer.load_state_dict(state)
            if event == "sample" and len(buffer):
                buffer.sample(3, rng)
            acting = range(agents) if event != "other" else rng.integers(0, agents + 2, 3)
            ends = ["terminated" if event == "end" and rng.random() < 0.5 else "" for _ in acting]
            transitions = [world.act(int(agent), end) for agent, end in zip(acting, ends, strict=True)]
            table = columns(transitions)
            if event == "refused":
                name = ["next_obs.0", "next_obs.1", "action.continuous", "reward"][rng.integers(4)]
                fields = dict(table.fields)
                other = fields.pop(name)
                if rng.random() < 0.5:
                    fields[name] = np.repeat(other, 2, -1).reshape(len(other), -1)
                with pytest.raises(ValueError, match=name):
                    buffer.add(Columns(fields))
            buffer.add(table)
            naive.add(transitions)
        check_equal(buffer, naive)
        check_sequences(buffer, naive, 4)


def test_rows_for_another_device_hold_the_same(monkeypatch):
    buffer, naive = play([[(agent, "") for agent in range(3)] for _ in range(20)], 40)
    monkeypatch.setattr(layout, "_gathered", lambda words, _: layout._GatheredElsewhere(torch.from_numpy(words)))
    check_equal(buffer, naive)
    check_sequences(buffer, naive, 3)


def test_rows_beyond_the_ring_are_used_again():
    world, rows = World(), SteadyRows(40, usual_fields(SPEC, 0))
    for step in range(6000):
        if step % 60 == 59:
            world.restart()
        rows.add(columns([world.act(agent, "truncated" if step % 61 == agent else "") for agent in range(3)]).fields)
    assert rows.free.unused <= rows.ring + 12


@pytest.mark.parametrize("agents", [1, 2, 4])
@pytest.mark.parametrize("steps", range(15, 45))
def test_nobody_looks_while_agents_act_together(agents, steps):
    world, buffer, naive = World(), make_buffer(16), NaiveBuffer(16)
    for step in range(steps):
        transitions = [world.act(agent, "truncated" if step == 13 else "") for agent in range(agents)]
        buffer.add(columns(transitions))
        naive.add(transitions)
    check_equal(buffer, naive)
    check_sequences(buffer, naive, 4)


@pytest.mark.parametrize("agents", [200, 512])
def test_many_agents_with_long_rows(agents):
    spec = BehaviorSpec((ObservationSpec("seen", (150,)),), ActionSpec(1))
    world, buffer, naive = World(spec, masked=False), make_buffer(3000, spec), NaiveBuffer(3000)
    for _ in range(9):
        transitions = [world.act(agent) for agent in range(agents)]
        buffer.add(columns(transitions))
        naive.add(transitions)
    check_equal(buffer, naive)
