"""Makes the small `.demo` files in `demos/`, one for each peculiarity of the format.

    .venv/bin/python tests/data/make_demos.py [FOLDER]

An agent stands at x, sees it, and is paid 1 for each step; what it did is written into the records in the way of the
release that the file imitates. `plugins/env_unity/tests/test_made_files.py` knows what each file says.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from agents_env_unity.messages.agent_pb2 import (
    GOAL_SIGNAL,
    PNG,
    ActionSpecProto,
    BrainParametersProto,
    ObservationProto,
    SpaceTypeProto,
)
from agents_env_unity.messages.records_pb2 import RawFlatRecord, RawObservation
from demo_parts import act, colours, image, old, pair, png, vector, write_file

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent / "demos"

CONTINUOUS = BrainParametersProto(brain_name="Walker?team=0", action_spec=ActionSpecProto(num_continuous_actions=1))
DISCRETE = BrainParametersProto(
    brain_name="Walker?team=0", action_spec=ActionSpecProto(num_discrete_actions=2, discrete_branch_sizes=[3, 2])
)
HYBRID = BrainParametersProto(
    brain_name="Walker?team=0",
    action_spec=ActionSpecProto(num_continuous_actions=1, num_discrete_actions=1, discrete_branch_sizes=[3]),
)
OLD_CONTINUOUS = BrainParametersProto(
    brain_name="WalkerLearning",
    vector_action_size_deprecated=[1],
    vector_action_space_type_deprecated=SpaceTypeProto.continuous,
)
OLD_DISCRETE = BrainParametersProto(brain_name="WalkerLearning", vector_action_size_deprecated=[3, 2])


def write(name: str, brain: BrainParametersProto, records: list[bytes], **options: Any) -> None:
    write_file(FOLDER / f"{name}.demo", brain, records, **options)


def walk(discrete: bool = False) -> list[bytes]:
    """Two episodes, one terminated, one cut off by a limit: x is 0, 1, 2 and 10, 11; actions lag by a record."""
    if discrete:
        actions = [act((), (0, 0)), act((), (2, 1)), act((), (1, 0)), act((), (0, 0)), act((), (1, 1))]
    else:
        actions = [act([0.0]), act([0.5]), act([-0.25]), act([0.0]), act([1.0])]
    places = [0, 1, 2, 10, 11]
    infos: list[dict[str, Any]] = [
        {"id": 4},
        {"id": 4, "reward": 1.0},
        {"id": 4, "reward": 2.0, "done": True},
        {"id": 5},
        {"id": 5, "reward": 3.0, "done": True, "max_step_reached": True},
    ]
    return [pair([vector(x)], action, **info) for x, action, info in zip(places, actions, infos, strict=True)]


def current_files() -> None:
    write("continuous", CONTINUOUS, walk(), episodes=3)
    write("discrete", DISCRETE, walk(discrete=True), episodes=3, tail=False)
    write(
        "hybrid",
        HYBRID,
        [pair([vector(x)], act([0.1 * x], [x % 3]), id=1, reward=float(x)) for x in range(4)],
        api_version=0,
    )
    masks = [[False] * 5, [True, False, False, False, True], []]
    write("masks", DISCRETE, [pair([vector(i)], act((), (1, 0)), action_mask=mask) for i, mask in enumerate(masks)])
    write(
        "mask-of-wrong-length",
        DISCRETE,
        [pair([vector(i)], act((), (1, 0)), action_mask=[True] * 2) for i in range(2)],
    )
    interleaved = [(0, 9, 0), (100, 2, 0), (1, 9, 0), (101, 2, 1), (102, 3, 0), (2, 9, 1), (103, 3, 0)]
    write(
        "many-agents",
        CONTINUOUS,
        [pair([vector(x)], act([x / 1000]), id=agent, done=bool(done)) for x, agent, done in interleaved],
        episodes=3,
    )
    write(
        "groups",
        CONTINUOUS,
        [pair([vector(i)], act([0.0]), group_id=3, group_reward=0.5 * i, reward=1.0) for i in range(3)],
    )


def observation_files() -> None:
    steps = range(3)
    channels_first = {"dimension_properties": [1, 2, 2], "name": "camera"}
    write(
        "png-channels-first",
        CONTINUOUS,
        [pair([image(png(colours(i)), [3, 2, 4], **channels_first), vector(i)], act([0.0])) for i in steps],
    )
    write(
        "png-channels-last",
        OLD_CONTINUOUS,
        [pair([image(png(colours(i)), [2, 4, 3]), ObservationProto(shape=[0])], old(0.0)) for i in steps],
    )
    write(
        "png-grey",
        CONTINUOUS,
        [pair([image(png(colours(50 * i)), [1, 2, 4], **channels_first)], act([0.0])) for i in steps],
    )
    stacked = {**channels_first, "compressed_channel_mapping": [0, 0, 0, 1, 1, 1, -1, -1, -1]}
    write(
        "png-mapped",
        CONTINUOUS,
        [
            pair(
                [image(b"".join(png(colours(10 * i + k)) for k in (1, 2, 3)), [2, 2, 4], **stacked)],
                act([0.0]),
            )
            for i in steps
        ],
    )
    floats = np.arange(24, dtype=np.float32).reshape(3, 2, 4) / 32
    seen = ObservationProto(
        shape=[3, 2, 4], float_data=ObservationProto.FloatData(data=floats.ravel()), dimension_properties=[1, 2, 2]
    )
    write("float-image", CONTINUOUS, [pair([seen], act([0.0])) for _ in steps])
    entities = ObservationProto(
        shape=[2, 3], float_data=ObservationProto.FloatData(data=range(6)), dimension_properties=[4, 1], name="others"
    )
    goal = vector(1.0, 0.0, observation_type=GOAL_SIGNAL, name="others")
    write("entities-and-goal", CONTINUOUS, [pair([entities, goal], act([0.0])) for _ in steps])


def old_files() -> None:
    lagging = [old(0.0), old(0.5), old(-0.25)]
    write("deprecated", OLD_CONTINUOUS, [pair([vector(i)], one, reward=float(i)) for i, one in enumerate(lagging)])
    own = [old(2.0, 1.0), old(1.0, 0.0), old()]
    converted = [pair([vector(i)], one, reward=float(i)) for i, one in enumerate(own)]
    write("deprecated-converted", OLD_DISCRETE, converted, tail=False)
    write("deprecated-converted-cut", OLD_DISCRETE, converted[:2], steps=3, tail=False)

    def stored(*numbers: float) -> bytes:
        return np.array(numbers, "<f4").tobytes()

    write(
        "flat-vector",
        OLD_CONTINUOUS,
        [
            RawFlatRecord(
                vector_observation=stored(i, -i), stored_vector_actions=stored(0.5 * i), reward=i, id=-9, done=i == 1
            ).SerializeToString()
            for i in range(4)
        ],
        episodes=2,
    )
    write(
        "flat-image",
        OLD_DISCRETE,
        [
            RawFlatRecord(
                visual_observations=[png(colours(i))], vector_observation=stored(i), stored_vector_actions=stored(i, 1)
            ).SerializeToString()
            for i in range(3)
        ],
    )
    write(
        "flat-observations",
        OLD_DISCRETE,
        [
            RawFlatRecord(
                observations=[
                    RawObservation(shape=bytes([2, 4, 3]), compression_type=PNG, compressed_data=png(colours(i)))
                ],
                stored_vector_actions=stored(i, 0),
            ).SerializeToString()
            for i in range(3)
        ],
    )


def broken_files() -> None:
    write("not-closed", CONTINUOUS, walk(), steps=0, episodes=0, tail=False)
    write("not-closed-cut", CONTINUOUS, walk(), steps=0, episodes=0, tail=False, keep=-5)
    write("cut-in-a-record", CONTINUOUS, walk(), episodes=3, keep=-30)
    write("cut-between-records", CONTINUOUS, walk()[:3], steps=5, episodes=3, tail=False)
    write("cut-in-the-head", CONTINUOUS, walk(), keep=20)
    write("cut-in-the-brain", CONTINUOUS, walk(), keep=40)
    write("no-steps", CONTINUOUS, [], steps=0)
    write("long-name", CONTINUOUS, walk(), title="A name that runs into the brain")
    write("unknown-version", CONTINUOUS, walk(), api_version=2)
    write("not-a-number", CONTINUOUS, [pair([vector(float(i if i < 2 else "nan"))], act([0.0])) for i in range(3)])
    write("wrong-action", CONTINUOUS, [pair([vector(i)], act([0.0] * (1 + i // 2))) for i in range(3)])
    write("action-that-is-no-choice", DISCRETE, [pair([vector(i)], act((), (i, 1))) for i in range(5)])
    write("missing-action", CONTINUOUS, [pair([vector(i)], act([0.5] if i != 1 else [])) for i in range(4)])
    write("changing-shape", CONTINUOUS, [pair([vector(*range(1 + i // 2))], act([0.0])) for i in range(3)])
    damaged = bytearray(png(colours(1)))
    damaged[60] ^= 0xFF
    write(
        "damaged-image",
        CONTINUOUS,
        [pair([image(data, [2, 4, 3])], act([0.0])) for data in (png(colours(0)), bytes(damaged))],
    )
    write("no-actions", BrainParametersProto(brain_name="Walker"), walk())
    (FOLDER / "pointer.demo").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 12345\n", encoding="utf-8"
    )
    (FOLDER / "flipped-head.demo").write_bytes(
        bytes(byte ^ 0xFF for byte in (FOLDER / "continuous.demo").read_bytes()[:4])
        + (FOLDER / "continuous.demo").read_bytes()[4:]
    )
    (FOLDER / "empty.demo").write_bytes(b"")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    current_files()
    observation_files()
    old_files()
    broken_files()
