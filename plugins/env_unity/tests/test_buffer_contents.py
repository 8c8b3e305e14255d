"""What agents saw, did and got, out of replay buffers of ML-Agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agents_core.demonstrations import DemonstrationError
from agents_core.spec import ActionSpec, ObservationSpec
from buffer_files import read, steps


def test_images_come_channels_last_as_bytes_where_all_numbers_are_shades(tmp_path: Path) -> None:
    stored = np.arange(3 * 2 * 8, dtype=np.float32).reshape(1, 3, 2, 8) / 255
    both = {"obs:0": np.repeat(stored, 4, 0), "next_obs:0": np.repeat(stored, 4, 0)}
    found = read(tmp_path, steps() | both)
    assert found.spec.observations[0] == ObservationSpec("obs_0", (2, 8, 3), "uint8", "image")
    assert found.episodes.columns["obs.0"][0, 1, 2].tolist() == [8 + 2, 16 + 8 + 2, 32 + 8 + 2]
    as_floats = read(tmp_path, steps() | both, images="float32")
    assert as_floats.spec.observations[0].dtype == "float32"
    np.testing.assert_array_equal(as_floats.episodes.columns["obs.0"][0], np.moveaxis(stored[0], 0, -1))
    for odd in (0.5 / 255, 256 / 255, -1 / 255):
        both["next_obs:0"][3, 0, 0, 0] = odd
        found = read(tmp_path, steps() | both)
        assert found.spec.observations[0].dtype == "float32"
        assert found.episodes.final_observations[0][-1, 0, 0, 0] == np.float32(odd)


def test_images_of_releases_that_stored_channels_last_are_told_by_their_shape(tmp_path: Path) -> None:
    stored = np.arange(4 * 8 * 8 * 3).reshape(4, 8, 8, 3) % 256 / np.float32(255)
    found = read(tmp_path, steps(obs__0=stored, next_obs__0=stored))
    assert found.spec.observations[0].shape == (8, 8, 3)
    np.testing.assert_array_equal(found.episodes.columns["obs.0"], np.rint(stored * 255))
    assert "taken for height, width and channels" in found.warnings[0]


def test_continuous_actions_stay_as_they_are_and_beyond_1_they_are_not_bounded(tmp_path: Path) -> None:
    for last, bounded in ((1.0, True), (-1.5, False)):
        found = read(tmp_path, steps(continuous_action=[[0.1, 0], [0.2, 0], [-1, 0], [last, 0]]))
        assert found.spec.action == ActionSpec(2, bounded=bounded)
        np.testing.assert_array_equal(
            found.episodes.columns["action.continuous"][:, 0], np.float32([0.1, 0.2, -1, last])
        )


def discrete(choices: list[list[int]], width: int | None) -> dict[str, Any]:
    masks = {} if width is None else {"action_mask": np.ones((4, width))}
    fields = steps(discrete_action=choices, **masks)
    del fields["continuous_action"]
    return fields


@pytest.mark.parametrize(
    ("choices", "width", "expected"),
    [
        ([[0], [1], [0], [1]], 5, (5,)),
        ([[0], [0], [0], [0]], 1, (1,)),
        ([[0, 2], [1, 0], [1, 1], [0, 0]], 5, (2, 3)),
        ([[0, 0], [0, 0], [0, 0], [0, 0]], 2, (1, 1)),
    ],
)
def test_masks_and_choices_tell_the_branches(
    tmp_path: Path, choices: list[list[int]], width: int, expected: tuple[int, ...]
) -> None:
    found = read(tmp_path, discrete(choices, width))
    assert found.spec.action == ActionSpec(0, expected)
    assert found.episodes.columns["action.discrete"].tolist() == choices
    assert found.warnings == ()
    assert "action_mask" not in found.episodes.columns


@pytest.mark.parametrize("width", [None, 2])  # Without masks there are none, or as many ones as branches.
def test_where_nothing_tells_the_branches_the_fewest_are_taken_with_a_warning(
    tmp_path: Path, width: int | None
) -> None:
    fields = discrete([[0, 2], [1, 0], [1, 1], [0, 0]], width)
    found = read(tmp_path, fields)
    assert found.spec.action.discrete_branches == (2, 3)
    assert "branches (2, 3) are the fewest" in found.warnings[0]
    found = read(tmp_path, fields, branches="2,4")
    assert (found.spec.action.discrete_branches, found.warnings) == ((2, 4), ())


def test_masks_that_could_be_split_in_several_ways_ask_for_the_branches(tmp_path: Path) -> None:
    fields = discrete([[0, 2], [0, 0], [0, 1], [0, 0]], 5)
    with pytest.raises(DemonstrationError, match=r"2 branches have 5 choices in all.*\(1, 3\).*--option branches=N"):
        read(tmp_path, fields)
    fields["action_mask"][1, 4] = 0
    found = read(tmp_path, fields, branches="2,3")
    assert found.spec.action.discrete_branches == (2, 3)
    assert found.episodes.columns["action_mask"].tolist() == [[True] * 5, [True] * 4 + [False], [True] * 5, [True] * 5]
    for wrong in ("2,4", "3,2", "5", "2,3,1"):
        with pytest.raises(DemonstrationError, match=r"do not fit: there are 2, at least \(1, 3\), 5 choices in all"):
            read(tmp_path, fields, branches=wrong)
    for wrong in ("2,x", "0,5", ""):
        with pytest.raises(DemonstrationError, match=r"'ml-agents-buffer': branches\.\d"):
            read(tmp_path, fields, branches=wrong)


def test_rewards_of_groups_stand_beside_the_agents_own(tmp_path: Path) -> None:
    found = read(tmp_path, steps(group_reward=[0, 0, 0, 16]))
    assert found.episodes.columns["group_reward"].tolist() == [0, 0, 0, 16]
    assert "group_reward" not in read(tmp_path, steps(group_reward=[0, 0, 0, 0])).episodes.columns
