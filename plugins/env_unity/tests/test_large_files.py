"""Files of many records are read block by block; what only some of them hold stays with its rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agents_core.demonstrations import DemonstrationError, load_demonstrations, read_demonstrations
from agents_env_unity.demo.stream import write_varint
from agents_env_unity.messages.agent_pb2 import (
    ActionSpecProto,
    AgentActionProto,
    AgentInfoProto,
    BrainParametersProto,
    ObservationProto,
)
from agents_env_unity.messages.demonstration_pb2 import AgentInfoActionPairProto, DemonstrationMetaProto

ROWS = 5000
MASKED = 1100  # The first rows have masks and are larger than the others: the file holds more rows than they promise.
GROUPED = 3000  # From here on, agents are in a group.


def write(path: Path, *, is_closed: bool, broken: int | None = None) -> None:
    brain = BrainParametersProto(
        brain_name="Many", action_spec=ActionSpecProto(num_discrete_actions=1, discrete_branch_sizes=[200])
    )
    records = []
    for row in range(ROWS):
        info = AgentInfoProto(
            observations=[
                ObservationProto(shape=[2], float_data=ObservationProto.FloatData(data=[row, -row]), name="x")
            ],
            reward=row % 7,
            done=row % 100 == 99,
            id=row // 100,
            group_id=5 if row >= GROUPED else 0,
            group_reward=0.5 if row >= GROUPED else 0.0,
            action_mask=[choice == row % 199 + 1 for choice in range(200)] if row < MASKED else [],
        )
        if row == broken:
            info.observations[0].float_data.data.append(1.0)
        pair = AgentInfoActionPairProto(agent_info=info, action_info=AgentActionProto(discrete_actions=[0]))
        records.append(pair.SerializeToString())
    meta = DemonstrationMetaProto(api_version=1, demonstration_name="Many")
    if is_closed:
        meta.number_steps, meta.number_episodes = ROWS, ROWS // 100 + 1
    head = _delimited(meta.SerializeToString()).ljust(33, b"\0") + _delimited(brain.SerializeToString())
    path.write_bytes(head + b"".join(map(_delimited, records)))


def _delimited(message: bytes) -> bytes:
    return write_varint(len(message)) + message


@pytest.mark.parametrize("is_closed", [False, True])
def test_every_row_keeps_what_is_its_own(tmp_path: Path, is_closed: bool) -> None:
    write(tmp_path / "many.demo", is_closed=is_closed)
    episodes = load_demonstrations(tmp_path / "many.demo").episodes
    rows = np.flatnonzero(np.arange(ROWS) % 100 != 99)  # the others are ends
    columns = episodes.columns
    np.testing.assert_array_equal(columns["obs.0"], np.stack([rows, -rows], axis=1))
    np.testing.assert_array_equal(columns["reward"], (rows + 1) % 7)
    np.testing.assert_array_equal(columns["group_id"], np.where(rows >= GROUPED, 4, -1))
    np.testing.assert_array_equal(columns["group_reward"], np.where(rows + 1 >= GROUPED, 0.5, 0))
    forbidden = (np.arange(200) == (rows % 199 + 1)[:, None]) & (rows < MASKED)[:, None]
    np.testing.assert_array_equal(columns["action_mask"], ~forbidden)
    np.testing.assert_array_equal(episodes.lengths, np.full(50, 99))
    np.testing.assert_array_equal(episodes.final_observations[0][:, 0], np.arange(99, ROWS, 100))


def test_a_damaged_record_is_found_in_its_block(tmp_path: Path) -> None:
    write(tmp_path / "many.demo", is_closed=True, broken=2345)
    with pytest.raises(DemonstrationError, match=r"byte \d+: record 2346: observation 'x' has 3 numbers instead of 2"):
        read_demonstrations(tmp_path / "many.demo")
