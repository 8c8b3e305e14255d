"""Written `.demo` files: read back they are the same, and their bytes are what the toolkit expects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import demo_wire
import numpy as np
import pytest
from agents_core.demonstrations import DemonstrationError, joined, load_demonstrations, store_demonstration
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.demonstrations import differing_columns, random_demonstration, with_columns
from hypothesis import given, settings
from hypothesis import strategies as st

SIZES = st.integers(1, 5)
OBSERVATIONS = st.one_of(
    st.builds(lambda size: ("float32", "vector", (size,)), st.integers(0, 5)),
    st.builds(lambda size: ("float32", "goal", (size,)), SIZES),
    st.builds(lambda count, size: ("float32", "entities", (count, size)), SIZES, SIZES),
    st.builds(
        lambda dtype, height, width, channels: (dtype, "image", (height, width, channels)),
        st.sampled_from(["float32", "uint8"]),
        SIZES,
        SIZES,
        st.integers(1, 7),
    ),
)
ACTIONS = st.tuples(st.integers(0, 3), st.lists(st.integers(1, 4), max_size=3).map(tuple)).filter(any)
SEEN = ObservationSpec("x", (2,))


@settings(max_examples=60, deadline=None)
@given(
    seen=st.lists(OBSERVATIONS, min_size=1, max_size=3),
    action=ACTIONS,
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    seed=st.integers(0, 99),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    seen: list[Any],
    action: tuple[int, tuple[int, ...]],
    lengths: list[int],
    seed: int,
) -> None:
    file = tmp_path_factory.mktemp("demo") / "expert.demo"
    observations = tuple(
        ObservationSpec(f"seen {i}", shape, dtype, kind) for i, (dtype, kind, shape) in enumerate(seen)
    )
    masked = seed % 2 == 0 and any(size > 1 for size in action[1][:1])
    made = random_demonstration(BehaviorSpec(observations, ActionSpec(*action)), lengths, seed=seed, masked=masked)
    store_demonstration(file, made)
    assert differing_columns(made, load_demonstrations(file)) == []


def written(tmp_path: Path, action: ActionSpec, **options: Any) -> tuple[Any, demo_wire.DemoFile]:
    seen = (SEEN, ObservationSpec("camera", (4, 3, 4), "uint8", "image"))
    made = random_demonstration(BehaviorSpec(seen, action), (2, 3), behavior="Walker?team=1", **options)
    store_demonstration(tmp_path / "My walk, 1.demo", made)
    return made, demo_wire.read(tmp_path / "My walk, 1.demo")


def test_the_head_is_that_of_the_recorder(tmp_path: Path) -> None:
    made, file = written(tmp_path, ActionSpec(2, (3, 2)))
    total = float(made.episodes.columns["reward"].sum())
    assert file.metadata == {1: [1], 2: [b"My walk 1"], 3: [7], 4: [3], 5: [pytest.approx(total / 3)]}
    assert set(file.padding) <= {0}
    assert file.brain[7] == [b"Walker?team=1"]
    assert 8 not in file.brain  # is_training is false
    assert (file.action_spec[1], file.action_spec[2]) == ([2], [2])
    assert demo_wire.packed_ints(file.action_spec, 3) == [3, 2]
    assert demo_wire.fields(file.tail) == file.metadata


@pytest.mark.parametrize(
    ("action", "space_type", "sizes"), [(ActionSpec(2), 1, [2]), (ActionSpec(0, (3, 2)), 0, [3, 2])]
)
def test_readers_of_old_releases_find_the_action_space_too(
    tmp_path: Path, action: ActionSpec, space_type: int, sizes: list[int]
) -> None:
    _, file = written(tmp_path, action)
    assert file.brain.get(6, [0]) == [space_type]
    assert demo_wire.packed_ints(file.brain, 3) == sizes


def test_actions_lag_by_a_record_and_the_final_observation_is_there(tmp_path: Path) -> None:
    made, file = written(tmp_path, ActionSpec(2, (3, 2)))
    columns, finals = made.episodes.columns, made.episodes.final_observations
    rows = [0, 1, None, 2, 3, 4, None]  # None: the final record of an episode
    episode = 0
    previous: int | None = None
    for record, row in zip(file.records, rows, strict=True):
        seen = [array[row] for array in columns.observations] if row is not None else [f[episode] for f in finals]
        np.testing.assert_array_equal(record.observations[0], seen[0])
        np.testing.assert_array_equal(record.observations[1], np.moveaxis(seen[1], 2, 0))
        continuous = [0.0, 0.0] if previous is None else columns["action.continuous"][previous].tolist()
        discrete = [0, 0] if previous is None else columns["action.discrete"][previous].tolist()
        assert (record.continuous, record.discrete) == (continuous, discrete)
        assert record.deprecated == [*continuous, *discrete]
        assert record.reward == (0.0 if previous is None else columns["reward"][previous])
        assert (record.done, record.max_step_reached) == (row is None, row is None and episode == 0)
        assert record.agent == 7 + episode
        previous, episode = (None, episode + 1) if row is None else (row, episode)
    assert file.records[0].shapes == [[2], [4, 4, 3]]
    assert file.records[0].dimensions == [[1], [1, 2, 2]]
    assert file.records[0].names == ["x", "camera"]


def test_masks_say_what_is_forbidden_and_final_records_have_none(tmp_path: Path) -> None:
    made, file = written(tmp_path, ActionSpec(0, (3, 2)), masked=True)
    mask = made.episodes.columns["action_mask"]
    found = [file.records[i].forbidden for i in (0, 1, 3, 4, 5)]
    assert found == (~mask).tolist()
    assert file.records[2].forbidden == file.records[6].forbidden == []


def test_groups_are_kept(tmp_path: Path) -> None:
    groups = {"group_id": np.array([0, 0, -1, -1]), "group_reward": np.array([0.5, 1, 0, 0], np.float32)}
    made = with_columns(random_demonstration(BehaviorSpec((SEEN,), ActionSpec(1)), (2, 2)), groups)
    store_demonstration(tmp_path / "groups.demo", made)
    assert [record.group for record in demo_wire.read(tmp_path / "groups.demo").records] == [1, 1, 1, 0, 0, 0]
    assert differing_columns(made, load_demonstrations(tmp_path / "groups.demo")) == []


def test_a_long_name_never_runs_into_the_brain(tmp_path: Path) -> None:
    file = tmp_path / "A walk with a rather long name.demo"
    store_demonstration(file, random_demonstration(BehaviorSpec((SEEN,), ActionSpec(1)), (9999, 9999, 9999)))
    found = demo_wire.read(file)
    assert found.metadata[2] == [b"A walk with a rather long name"[: len(found.metadata[2][0])]]
    assert 10 <= len(found.metadata[2][0]) <= 16
    assert len(found.records) == 3 * 10_000


def test_actions_of_an_unbounded_space_stay_as_they_are(tmp_path: Path) -> None:
    spec = BehaviorSpec((SEEN,), ActionSpec(1, bounded=False))
    made = random_demonstration(spec, (3,))
    made.episodes.columns["action.continuous"][1] = 7.5
    store_demonstration(tmp_path / "free.demo", made)
    assert differing_columns(made, load_demonstrations(tmp_path / "free.demo")) == []


@pytest.mark.parametrize(
    "seen",
    [
        ObservationSpec("flags", (3,), "bool"),
        ObservationSpec("wide", (3,), "float64"),
        ObservationSpec("board", (3, 3, 2), "bool", "image"),
        ObservationSpec("table", (3, 3)),
    ],
)
def test_what_has_no_place_is_refused_and_nothing_is_left(tmp_path: Path, seen: ObservationSpec) -> None:
    made = random_demonstration(BehaviorSpec((seen,), ActionSpec(1)))
    with pytest.raises(DemonstrationError, match=rf"no place for observation '{seen.name}', .* Write an \.h5 file"):
        store_demonstration(tmp_path / "expert.demo", made)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_appended(tmp_path: Path) -> None:
    made = random_demonstration(BehaviorSpec((SEEN,), ActionSpec(1)))
    store_demonstration(tmp_path / "expert.demo", made, append=True)
    with pytest.raises(DemonstrationError, match=r"append to an \.h5 file"):
        store_demonstration(tmp_path / "expert.demo", made, append=True)


def test_through_every_format_and_back(tmp_path: Path) -> None:
    made = random_demonstration(masked=True)
    store_demonstration(tmp_path / "a.demo", made)
    store_demonstration(tmp_path / "b.h5", load_demonstrations(tmp_path / "a.demo"))
    store_demonstration(tmp_path / "c.demo", load_demonstrations(tmp_path / "b.h5"))
    assert differing_columns(made, load_demonstrations(tmp_path / "c.demo")) == []
    both = load_demonstrations([tmp_path / "a.demo", tmp_path / "b.h5"])
    assert differing_columns(joined([made, made]), both) == []
