"""One small file for each peculiarity of `.demo` files; `tests/data/make_demos.py` makes them."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agents_core.demonstrations import Demonstration, DemonstrationError, load_demonstrations, read_demonstrations
from agents_core.spec import ActionSpec, ObservationSpec

FILES = Path(__file__).resolve().parents[3] / "tests" / "data" / "demos"


def colours(*steps: int) -> np.ndarray[Any, Any]:
    """uint8[n, 2, 4, 3], as the maker of the files draws them."""
    return np.stack([(np.arange(24).reshape(2, 4, 3) * 5 + step).astype(np.uint8) for step in steps])


def test_the_files_are_those_that_the_maker_makes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(FILES.parent / "make_demos.py"), str(tmp_path)], check=True)
    assert {file.name for file in tmp_path.iterdir()} == {file.name for file in FILES.iterdir()}
    drawn = ("png-", "flat-image", "flat-observations", "damaged-image")  # each release of zlib packs in its own way
    for file in tmp_path.iterdir():
        if not file.name.startswith(drawn):
            assert file.read_bytes() == (FILES / file.name).read_bytes(), file.name


def load(name: str, **options: object) -> Demonstration:
    return load_demonstrations(FILES / f"{name}.demo", options=options)


def table(demonstration: Demonstration) -> dict[str, Any]:
    """Everything that a transition says, as plain lists."""
    episodes = demonstration.episodes
    columns = episodes.columns
    return {
        "seen": columns["obs.0"].ravel().tolist(),
        "final": episodes.final_observations[0].ravel().tolist(),
        "continuous": columns["action.continuous"].tolist(),
        "discrete": columns["action.discrete"].tolist(),
        "reward": columns["reward"].tolist(),
        "terminated": columns["terminated"].tolist(),
        "truncated": columns["truncated"].tolist(),
        "agent": columns["agent_id"].tolist(),
        "episode": columns["episode_id"].tolist(),
    }


def test_each_observation_has_the_action_of_the_next_record() -> None:
    read = load("continuous")
    assert table(read) == {
        "seen": [0, 1, 10],
        "final": [2, 11],
        "continuous": [[0.5], [-0.25], [1.0]],
        "discrete": [[], [], []],
        "reward": [1, 2, 3],
        "terminated": [False, True, False],
        "truncated": [False, False, True],
        "agent": [4, 4, 5],
        "episode": [0, 0, 1],
    }
    assert read.behavior == "Walker?team=0"
    assert read.spec.observations == (ObservationSpec("x", (1,)),)
    assert read.summary is not None
    assert (read.summary.records, read.summary.reward_sum) == (5, 6)
    assert read.summary.pairing == "auto: action of the next record"
    assert read.warnings == ()


def test_records_can_be_taken_as_ml_agents_takes_them() -> None:
    read = load("continuous", pairing="ml-agents")
    assert table(read) == {
        "seen": [0, 1, 2, 10],
        "final": [2, 11],
        "continuous": [[0.0], [0.5], [-0.25], [0.0]],
        "discrete": [[], [], [], []],
        "reward": [1, 2, 0, 3],
        "terminated": [False, True, False, True],
        "truncated": [False] * 4,
        "agent": [4, 4, 4, 5],
        "episode": [0, 0, 1, 1],
    }
    assert read.summary is not None
    assert read.summary.pairing == "ml-agents"


def test_a_pairing_that_does_not_exist_is_refused() -> None:
    with pytest.raises(DemonstrationError, match="demonstration format 'demo': pairing: found 'manual'"):
        load("continuous", pairing="manual")


def test_branches_without_a_tail() -> None:
    found = table(load("discrete"))
    assert found["discrete"] == [[2, 1], [1, 0], [1, 1]]
    assert found["continuous"] == [[], [], []]
    assert load("discrete").spec.action == ActionSpec(0, (3, 2))


def test_both_kinds_of_action_at_once() -> None:
    read = load("hybrid")
    found = table(read)
    np.testing.assert_allclose(found["continuous"], [[0.1], [0.2], [0.3]], rtol=1e-6)
    assert found["discrete"] == [[1], [2], [0]]
    assert found["truncated"] == [False, False, True]
    assert read.spec.action == ActionSpec(1, (3,))


def test_masks_are_turned_round_and_stay_with_their_observation() -> None:
    columns = load("masks").episodes.columns
    assert columns["action_mask"].tolist() == [[True] * 5, [False, True, True, True, False]]


def test_a_mask_of_wrong_length_forbids_nothing_but_is_told() -> None:
    read = load("mask-of-wrong-length")
    assert "action_mask" not in read.episodes.columns
    (warning,) = read.warnings
    assert "2 action masks have another length" in warning


def test_agents_that_take_turns_are_taken_apart() -> None:
    found = table(load("many-agents"))
    assert found["seen"] == [0, 1, 100, 102]
    assert found["final"] == [2, 101, 103]
    np.testing.assert_allclose(found["continuous"], [[0.001], [0.002], [0.101], [0.103]], rtol=1e-6)
    assert found["terminated"] == [False, True, True, False]
    assert found["truncated"] == [False, False, False, True]
    assert found["agent"] == [9, 9, 2, 3]


def test_groups_are_numbered_from_0() -> None:
    columns = load("groups").episodes.columns
    assert columns["group_id"].tolist() == [2, 2]
    assert columns["group_reward"].tolist() == [0.5, 1.0]


@pytest.mark.parametrize("name", ["png-channels-first", "png-channels-last"])
def test_images_have_their_channels_last_whatever_the_layout(name: str) -> None:
    read = load(name)
    np.testing.assert_array_equal(read.episodes.columns["obs.0"], colours(0, 1))
    np.testing.assert_array_equal(read.episodes.final_observations[0], colours(2))
    first, second = read.spec.observations
    assert (first.shape, first.dtype, first.kind) == ((2, 4, 3), "uint8", "image")
    assert (first.name, second.shape) == (("camera", (1,)) if name == "png-channels-first" else ("obs_0", (0,)))


def test_one_channel_is_the_mean_of_three() -> None:
    columns = load("png-grey").episodes.columns
    assert columns["obs.0"].shape == (2, 2, 4, 1)
    assert columns["obs.0"][:, 0, :2, 0].tolist() == [[5, 20], [55, 70]]


def test_channels_of_several_images_are_averaged_or_dropped_by_their_mapping() -> None:
    columns = load("png-mapped").episodes.columns
    assert columns["obs.0"][:, 0, 0].tolist() == [[6, 7], [16, 17]]


def test_images_of_floats_stay_floats() -> None:
    read = load("float-image")
    expected = np.moveaxis(np.arange(24, dtype=np.float32).reshape(3, 2, 4) / 32, 0, 2)
    np.testing.assert_array_equal(read.episodes.columns["obs.0"][0], expected)
    assert read.spec.observations[0] == ObservationSpec("obs_0", (2, 4, 3), "float32", "image")


def test_entities_and_goals_are_told_apart_and_names_are_made_unique() -> None:
    assert load("entities-and-goal").spec.observations == (
        ObservationSpec("others", (2, 3), "float32", "entities"),
        ObservationSpec("others_1", (2,), "float32", "goal"),
    )


def test_the_deprecated_list_lags_too() -> None:
    found = table(load("deprecated"))
    assert (found["continuous"], found["reward"]) == ([[0.5], [-0.25]], [1, 2])


@pytest.mark.parametrize(("name", "actions"), [("", [[2, 1], [1, 0]]), ("-cut", [[2, 1]])])
def test_converted_files_do_not_lag(name: str, actions: list[list[int]]) -> None:
    read = load(f"deprecated-converted{name}")
    assert table(read)["discrete"] == actions
    assert read.summary is not None
    assert read.summary.pairing == "auto: action of the same record"
    assert len(read.warnings) == (2 if name else 0)


def test_flat_records_with_a_vector() -> None:
    read = load("flat-vector")
    found = table(read)
    assert read.episodes.columns["obs.0"].tolist() == [[0, 0], [2, -2]]
    assert (found["continuous"], found["reward"]) == ([[0.5], [1.5]], [1, 3])
    assert (found["terminated"], found["truncated"]) == ([True, False], [False, True])
    assert (found["agent"], read.behavior) == ([-9, -9], "WalkerLearning")
    assert not read.spec.action.bounded  # 1.5 was done


def test_flat_records_with_images() -> None:
    read = load("flat-image")
    np.testing.assert_array_equal(read.episodes.columns["obs.0"], colours(0, 1))
    assert read.episodes.columns["obs.1"].tolist() == [[0], [1]]
    assert read.episodes.columns["action.discrete"].tolist() == [[1, 1], [2, 1]]
    later = load("flat-observations")
    np.testing.assert_array_equal(later.episodes.columns["obs.0"], colours(0, 1))
    assert later.episodes.columns["action.discrete"].tolist() == [[1, 0], [2, 0]]


@pytest.mark.parametrize(
    ("name", "transitions", "reason"),
    [
        ("not-closed", 3, r"byte 0: the recording was not closed"),
        ("not-closed-cut", 2, r"byte 193: the file ends at byte 229, 5 bytes before .*; this record is left out"),
        ("cut-between-records", 2, r"byte 161: the file ends here after 3 records; its head promises 5"),
    ],
)
def test_what_is_complete_is_read_with_a_warning(
    name: str, transitions: int, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert len(load(name)) == transitions
    warnings = [record.getMessage() for record in caplog.records]
    assert all(warning.startswith(f"{FILES / name}.demo: byte ") for warning in warnings)
    assert re.search(reason, "\n".join(warnings))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("empty", r"byte 0: the file is empty"),
        ("pointer", r"byte 0: this is a Git LFS pointer, not the recording; fetch it with `git lfs pull`"),
        ("flipped-head", r"byte 0: metadata of \d+ bytes; at most 32 fit"),
        ("long-name", r"byte 0: metadata of 39 bytes; at most 32 fit. Its name is too long"),
        ("unknown-version", r"byte 0: API version 2 is not known; files have 0 or 1"),
        ("cut-in-the-head", r"byte 20: the file ends here, in the head"),
        ("cut-in-the-brain", r"byte 33: the file ends at byte 40, 13 bytes before"),
        ("no-actions", r"byte 33: brain parameters: an action needs"),
        ("no-steps", r"byte 53: the recording was closed before its first step"),
        ("cut-in-a-record", r"byte 193: record 5 of 5 is cut: the file ends at byte 216, 18 bytes before"),
        ("not-a-number", r"byte 113: record 3: observation 'x' is not finite"),
        (
            "wrong-action",
            r"byte 113: record 3: an action of 2 continuous and 0 discrete numbers, the head says 1 and 0",
        ),
        ("missing-action", r"byte 83: record 2 has no action"),
        ("changing-shape", r"byte 113: record 3: observation 'x' changes its shape to \[2\]"),
        ("damaged-image", r"byte 152: record 2: observation 'obs_0': an image that is damaged"),
        ("action-that-is-no-choice", r"discrete action \[3, 1\] of transition 2 is outside of branches \(3, 2\)"),
    ],
)
def test_what_is_damaged_is_refused_with_its_place(name: str, reason: str) -> None:
    with pytest.raises(DemonstrationError, match=rf"{name}\.demo: {reason}"):
        load(name)


def test_actions_that_are_no_choices_can_still_be_looked_at() -> None:
    read = read_demonstrations(FILES / "action-that-is-no-choice.demo")
    assert read.episodes.columns["action.discrete"][:, 0].tolist() == [1, 2, 3, 4]
    in_records, in_columns = read.warnings
    assert "byte 141: record 4: discrete action [3, 1] is outside of branches (3, 2); 2 of 4" in in_records
    assert "discrete action [3, 1] of transition 2 is outside of branches (3, 2)" in in_columns


def test_several_files_are_several_recordings() -> None:
    both = load_demonstrations([FILES / "continuous.demo", FILES / "cut-between-records.demo"])
    found = table(both)
    assert found["seen"] == [0, 1, 10, 0, 1]
    assert found["final"] == [2, 11, 2]
    assert found["episode"] == [0, 0, 1, 2, 2]
    assert both.summary is not None
    assert (both.summary.records, both.summary.reward_sum) == (8, 9)
