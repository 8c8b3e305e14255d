"""Transitions whose fields come in other dtypes, or not at all, hold the values that were given."""

from __future__ import annotations

import numpy as np
import pytest
from agents_core.columns import Columns
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from replay_model import SMALL_SPEC, EveryRow, NaiveBuffer, World, columns, contents, identity, make_buffer

IMAGES = BehaviorSpec((ObservationSpec("image", (40, 40, 3), "uint8", "image"),), ActionSpec(1))
OTHERS = [
    ("reward", "int32"),
    ("reward", "float64"),
    ("reward", ">f4"),
    ("obs.0", "int32"),
    ("next_obs.0", "int32"),
    ("next_obs.0", "float64"),
    ("action.continuous", "uint32"),
    ("terminated", "int8"),
    ("truncated", "uint8"),
    ("truncated", "int64"),
    ("agent_id", "int32"),
    ("agent_id", "uint64"),
    ("episode_id", "uint64"),
    ("episode_id", "int16"),
]
ONCE, TWICE, ALWAYS = [21], [17, 21], range(60)


def whole(transition):
    """With numbers that every dtype can have."""
    reward, action = (np.float32(5 + transition["obs.0"][0]), np.full(1, 7, np.float32))
    return {**transition, "reward": reward, "action.continuous": action}


@pytest.mark.parametrize(("name", "dtype"), OTHERS)
@pytest.mark.parametrize("agents", [1, 3])
@pytest.mark.parametrize("when", [ONCE, TWICE, ALWAYS])
@pytest.mark.parametrize("end", [0, 20, 21, 22])
def test_other_dtype_than_before_is_converted(name, dtype, agents, when, end):
    world, buffer, naive = World(SMALL_SPEC, masked=False), make_buffer(50, SMALL_SPEC), NaiveBuffer(50)
    for step in range(40):
        transitions = [
            whole(world.act(agent, "truncated" if end == step and not agent else "")) for agent in range(agents)
        ]
        naive.add(transitions)
        fields = dict(columns(transitions).fields)
        if step in when:
            fields[name] = fields[name].astype(dtype)
        buffer.add(Columns(fields))
    assert sorted(map(identity, contents(buffer))) == sorted(map(identity, naive.transitions))
    starts = buffer.sample_sequences(len(buffer), 3, EveryRow())
    assert int(starts["is_valid"].sum()) == sum(len(naive.sequence(i, 3)) for i in range(len(naive.transitions)))


@pytest.mark.parametrize("agents", [1, 2])
def test_field_that_is_left_out_once_mixes_nothing_up(agents):
    world, buffer, naive = World(SMALL_SPEC, masked=False), make_buffer(50, SMALL_SPEC), NaiveBuffer(50)
    for step in range(12):
        transitions = [{**world.act(agent), "group_reward": np.float32(step + 1)} for agent in range(agents)]
        naive.add([{**one, "group_reward": np.float32(0)} for one in transitions] if step == 6 else transitions)
        fields = dict(columns(transitions).fields)
        if step == 6:  # As many fields as before.
            buffer.sample(1, np.random.default_rng(0))
            fields["tick"] = fields.pop("group_reward").astype(np.int64)
        buffer.add(Columns(fields))
    assert sorted(map(identity, contents(buffer))) == sorted(map(identity, naive.transitions))


@pytest.mark.parametrize("spec", [SMALL_SPEC, IMAGES], ids=["side by side", "apart"])
@pytest.mark.parametrize("agents", [1, 3])
@pytest.mark.parametrize("step", [0, 1, 2, 3, 20])
@pytest.mark.parametrize("end", ["", "truncated"])
@pytest.mark.parametrize("name", ["next_obs.0", "action.continuous", "reward", "terminated"])
@pytest.mark.parametrize("change", [-1, 1])
def test_field_of_another_shape_is_refused_by_name_and_spoils_nothing(spec, agents, step, end, name, change):
    world, buffer, naive = World(spec, masked=False), make_buffer(50, spec), NaiveBuffer(50)
    for number in range(24):
        transitions = [world.act(agent, end if number == step else "") for agent in range(agents)]
        fields = dict(columns(transitions).fields)
        if number == step:
            shape = fields[name].shape
            other = (*shape[:-1], shape[-1] + change) if len(shape) > 1 else (*shape, 2)
            with pytest.raises(ValueError, match=rf"^{name}: found rows of shape .*, expected \("):
                buffer.add(Columns({**fields, name: np.zeros(other, fields[name].dtype)}))
        buffer.add(Columns(fields))
        naive.add(transitions)
    assert sorted(map(identity, contents(buffer))) == sorted(map(identity, naive.transitions))


@pytest.mark.parametrize("agents", [1, 3])
@pytest.mark.parametrize("step", [0, 1, 2, 20])
@pytest.mark.parametrize("name", ["obs.0", "next_obs.0", "action.continuous", "reward", "truncated", "episode_id"])
def test_missing_field_is_refused_by_name(agents, step, name):
    world, buffer = World(SMALL_SPEC, masked=False), make_buffer(50, SMALL_SPEC)
    for _ in range(step):
        buffer.add(columns([world.act(agent) for agent in range(agents)]))
    fields = dict(columns([world.act(agent) for agent in range(agents)]).fields)
    del fields[name]
    with pytest.raises(ValueError, match=f"missing: {name}"):
        buffer.add(Columns(fields))
    assert len(buffer) == min(50, agents * step)
