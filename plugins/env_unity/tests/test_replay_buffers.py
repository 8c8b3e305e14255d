"""Replay buffers of ML-Agents become the transitions that they hold."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from agents_core.cli.main import main
from agents_core.demonstrations import (
    Demonstration,
    DemonstrationError,
    load_demonstrations,
    read_demonstrations,
    store_demonstration,
)
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.demonstrations import HYBRID_SPEC, differing_columns, random_demonstration, with_columns
from buffer_files import fields_of, padded, read, save, steps
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

OBSERVATIONS = st.lists(
    st.sampled_from(
        [
            ObservationSpec("", (3,)),
            ObservationSpec("", (0,)),
            ObservationSpec("", (2, 3), kind="entities"),
            ObservationSpec("", (4, 5, 3), "uint8", "image"),
            ObservationSpec("", (2, 6, 2), "float32", "image"),
        ]
    ),
    max_size=2,
).map(lambda seen: tuple(replace(one, name=f"obs_{i}") for i, one in enumerate([ObservationSpec("", (2,)), *seen])))
ACTIONS = st.sampled_from([ActionSpec(2), ActionSpec(1, (3,)), ActionSpec(0, (2, 4)), ActionSpec(3, (1,))])


def by_buffer(made: Demonstration) -> Demonstration:
    """A demonstration as a buffer knows it: without agents and names."""
    made = with_columns(made, {"agent_id": np.zeros(len(made), np.int64)})
    seen = tuple(replace(one, name=f"obs_{i}") for i, one in enumerate(made.spec.observations))
    return replace(made, spec=replace(made.spec, observations=seen))


@settings(max_examples=60, deadline=None)
@given(
    seen=OBSERVATIONS,
    action=ACTIONS,
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    sequence_length=st.integers(1, 5),
    seed=st.integers(0, 99),
)
def test_what_was_saved_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    seen: tuple[ObservationSpec, ...],
    action: ActionSpec,
    lengths: list[int],
    sequence_length: int,
    seed: int,
) -> None:
    made = by_buffer(
        random_demonstration(
            BehaviorSpec(seen, action), lengths, seed=seed, masked=sum(action.discrete_branches) > 1 and seed % 2 == 0
        )
    )
    folder = tmp_path_factory.mktemp("buffer")
    options = {"branches": action.discrete_branches} if len(action.discrete_branches) > 1 else {}
    found = read(folder, fields_of(made, sequence_length=sequence_length), **options)
    assert differing_columns(made, found) == []
    assert found.summary is not None
    assert found.summary.records == sum(length + -length % sequence_length for length in lengths)


def test_a_row_follows_the_one_that_says_so_and_no_other(tmp_path: Path) -> None:
    first, second = np.arange(0, 5), np.arange(10, 15)  # What two agents see, in pieces of two steps.
    order = [(first, 0), (second, 0), (first, 2), (second, 2)]
    seen = np.concatenate([sees[start : start + 2] for sees, start in order])[:, None]
    fields = steps(
        obs__0=seen,
        next_obs__0=seen + 1,
        continuous_action=seen / 100,
        done=[0, 0, 0, 0, 0, 1, 0, 0],
        environment_rewards=np.arange(8),
        masks=np.ones(8),
    )
    episodes = read(tmp_path, fields).episodes
    assert episodes.lengths.tolist() == [2, 2, 2, 2]
    assert episodes.columns["obs.0"].ravel().tolist() == [0, 1, 10, 11, 2, 3, 12, 13]
    assert episodes.final_observations[0].ravel().tolist() == [2, 12, 4, 14]
    assert np.flatnonzero(episodes.columns["terminated"]).tolist() == [5]
    assert np.flatnonzero(episodes.columns["truncated"]).tolist() == [1, 3, 7]
    assert episodes.columns["episode_id"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert np.concatenate(episodes.next_observations()).ravel().tolist() == [1, 2, 11, 12, 3, 4, 13, 14]
    fields["obs:0"], fields["next_obs:0"] = fields["obs:0"][[0, 1, 4, 5]], fields["next_obs:0"][[0, 1, 4, 5]]
    whole = read(tmp_path, {name: values[:4] for name, values in fields.items()}).episodes
    assert whole.lengths.tolist() == [4]


def test_every_observation_must_follow(tmp_path: Path) -> None:
    again = [[1], [1], [1], [1]]
    followed = steps(obs__1=again, next_obs__1=again)
    assert read(tmp_path, followed).episodes.lengths.tolist() == [4]
    left = steps(obs__1=again, next_obs__1=[[1], [2], [1], [1]])
    found = read(tmp_path, left).episodes
    assert found.lengths.tolist() == [2, 2]
    assert [final.ravel().tolist() for final in found.final_observations] == [[2, 4], [2, 1]]


def test_an_interrupted_episode_ends_with_what_ml_agents_wrote_in_place_of_the_next_observation(tmp_path: Path) -> None:
    fields = steps(obs__0=[[0], [1], [7], [8]], next_obs__0=[[1], [1], [8], [9]])
    episodes = read(tmp_path, fields).episodes
    assert episodes.lengths.tolist() == [2, 2]
    assert episodes.columns["truncated"].tolist() == [False, True, False, False]
    assert episodes.final_observations[0].ravel().tolist() == [1, 9]


def test_an_end_is_a_border_whatever_is_seen(tmp_path: Path) -> None:
    same = [[5], [5], [5], [5]]
    episodes = read(tmp_path, steps(obs__0=same, next_obs__0=same, done=[0, 1, 0, 0])).episodes
    assert episodes.lengths.tolist() == [2, 2]
    assert episodes.columns["terminated"].tolist() == [False, True, False, False]
    assert episodes.columns["truncated"].tolist() == [False, False, False, True]


def test_padding_is_dropped_whatever_stands_in_it(tmp_path: Path) -> None:
    fields = {name: padded(values, [3, 1], 4, name) for name, values in steps().items()}
    fields["obs:0"][3:4] = fields["environment_rewards"][3:4] = np.nan
    found = read(tmp_path, fields)
    assert found.summary is not None
    assert (found.summary.records, len(found), found.warnings) == (8, 4, ())
    assert found.summary.reward_sum == 15
    assert found.episodes.lengths.tolist() == [4]  # The third row says that the fourth follows.
    assert found.episodes.columns["reward"].tolist() == [1, 2, 4, 8]


def test_without_masks_rows_of_zeros_are_padding_and_that_is_said(tmp_path: Path) -> None:
    fields = {name: padded(values, [3, 1], 4, name) for name, values in steps().items() if name != "masks"}
    found = read(tmp_path, fields)
    assert found.episodes.columns["reward"].tolist() == [1, 2, 4, 8]
    (warning,) = found.warnings
    assert "last_replay_buffer.hdf5: 4 rows hold nothing but zeros and are taken for padding" in warning


def test_without_next_observations_a_row_is_followed_by_the_next_one(tmp_path: Path) -> None:
    fields = steps(
        obs__0=[[1], [2], [3], [4], [0], [5], [6]],
        continuous_action=np.arange(7)[:, None] / 10,
        done=[0, 1, 0, 0, 0, 0, 0],
        environment_rewards=np.arange(7),
        masks=[1, 1, 1, 1, 0, 1, 1],
    )
    del fields["next_obs:0"]
    found = read(tmp_path, fields)
    episodes = found.episodes
    assert episodes.lengths.tolist() == [2, 1, 1]
    assert episodes.columns["obs.0"].ravel().tolist() == [1, 2, 3, 5]
    assert episodes.columns["reward"].tolist() == [0, 1, 2, 5]
    assert episodes.columns["terminated"].tolist() == [False, True, False, False]
    assert episodes.columns["truncated"].tolist() == [False, False, True, True]
    assert episodes.final_observations[0].ravel().tolist() == [2, 4, 6]
    assert found.summary is not None
    assert (found.summary.records, found.summary.pairing) == (7, "obs of the next row")


@pytest.mark.parametrize("suffix", [".hdf5", ".h5"])
def test_buffers_and_demonstrations_are_told_apart_by_content(tmp_path: Path, suffix: str) -> None:
    made = by_buffer(random_demonstration(HYBRID_SPEC, masked=True))
    saved = save(tmp_path / f"buffer{suffix}", fields_of(made))
    own = tmp_path / f"own{suffix}"
    options = ["--option", "branches=3,2"]
    result = CliRunner().invoke(main, ["demo", "convert", str(saved), str(own), *options])
    assert (result.exit_code, result.stderr) == (0, "")
    assert differing_columns(made, load_demonstrations(own)) == []
    told = [
        json.loads(CliRunner().invoke(main, ["demo", "info", str(path), "--json", *given]).stdout)
        for path, given in ((saved, options), (own, []))
    ]
    for document in told:
        document["pairing"] = None
    assert told[0] == told[1]


def test_info_says_what_a_buffer_holds(tmp_path: Path) -> None:
    fields = {name: padded(values, [3, 1], 4, name) for name, values in steps().items()}
    path = save(tmp_path / "last_replay_buffer.hdf5", fields)
    result = CliRunner().invoke(main, ["demo", "info", str(path), "--json"])
    assert json.loads(result.stdout) == {
        "behavior": "",
        "records": 8,
        "transitions": 4,
        "episodes": 1,
        "observations": [{"name": "obs_0", "shape": [1], "dtype": "float32", "kind": "vector"}],
        "continuous_size": 1,
        "discrete_branches": [],
        "reward_sum": 15.0,
        "returns": [15.0],
        "lengths": [4],
        "pairing": "next_obs of the same row",
        "warnings": [],
    }


def test_a_buffer_is_never_appended_to_and_is_replaced_only_when_asked(tmp_path: Path) -> None:
    path = save(tmp_path / "last_replay_buffer.hdf5", steps())
    before = path.read_bytes()
    made = random_demonstration()
    with pytest.raises(DemonstrationError, match="it is there already"):
        store_demonstration(path, made)
    with pytest.raises(DemonstrationError, match=r"last_replay_buffer\.hdf5: not a readable HDF5 demonstration"):
        store_demonstration(path, made, append=True)
    assert path.read_bytes() == before
    store_demonstration(path, made, force=True)
    assert differing_columns(made, load_demonstrations(path)) == []


@pytest.mark.parametrize("images", ["auto", "float32"])
def test_reading_takes_little_more_memory_than_the_arrays(tmp_path: Path, images: str) -> None:
    generator = np.random.default_rng(0)
    rows = 600
    shades = generator.integers(0, 4, (rows + 1, 3, 40, 40)).astype(np.float32) / 255
    fields = steps(
        obs__0=shades[:-1],
        next_obs__0=shades[1:],
        continuous_action=generator.uniform(-1, 1, (rows, 2)),
        done=np.zeros(rows),
        environment_rewards=np.zeros(rows),
        masks=np.ones(rows),
    )
    path = save(tmp_path / "large.hdf5", fields)
    stored = 2 * shades[:-1].nbytes
    tracemalloc.start()
    try:
        found = read_demonstrations(path, options={"images": images})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.episodes.lengths.tolist() == [rows]
    assert peak < 1.7 * stored
