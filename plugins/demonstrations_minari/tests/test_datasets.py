"""Minari data sets: what is written is read, and what others wrote becomes what Gymnasium agents see and do."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import minari
import numpy as np
import pytest
from agents_core.demonstrations import DemonstrationError, load_demonstrations, store_demonstration
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.demonstrations import HYBRID_SPEC, differing_columns, random_demonstration
from gymnasium import spaces
from minari.data_collector import EpisodeBuffer

ONE_VECTOR = (ObservationSpec("observation", (3,)),)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


def foreign(observation_space: gym.Space[Any], action_space: gym.Space[Any], *episodes: EpisodeBuffer) -> str:
    """A data set as somebody else writes it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would like to know an author and an environment
        minari.create_dataset_from_buffers(
            "foreign/data-v0", list(episodes), observation_space=observation_space, action_space=action_space
        )
    return "minari:foreign/data-v0"


def episode(
    observations: Any, actions: Any, steps: int, *, terminated: bool = True, infos: Any = None
) -> EpisodeBuffer:
    ends = np.zeros(steps, np.bool_)
    ends[-1] = terminated
    return EpisodeBuffer(
        observations=observations,
        actions=actions,
        rewards=np.arange(steps, dtype=np.float64),
        terminations=ends,
        truncations=np.zeros(steps, np.bool_),
        infos=infos,
    )


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    "action",
    [ActionSpec(2), ActionSpec(0, (3,)), ActionSpec(0, (3, 2)), ActionSpec(1, (4,)), ActionSpec(2, bounded=False)],
)
def test_what_is_written_is_read(action: ActionSpec, masked: bool) -> None:
    made = random_demonstration(BehaviorSpec(ONE_VECTOR, action), masked=masked and bool(action.discrete_branches))
    store_demonstration("minari:mine/expert-v1", made)
    assert differing_columns(made, load_demonstrations("minari:mine/expert-v1")) == []


def test_several_observations_and_images_are_kept_without_loss(store: Path) -> None:
    made = random_demonstration(HYBRID_SPEC, (5, 2, 4), masked=True)
    store_demonstration("minari:expert-v0", made)
    assert differing_columns(made, load_demonstrations("minari:expert-v0", spec=HYBRID_SPEC)) == []
    with pytest.raises(DemonstrationError, match="there already"):
        store_demonstration("minari:expert-v0", made)
    other = random_demonstration(HYBRID_SPEC, seed=1)
    store_demonstration("minari:expert-v0", other, force=True)
    assert differing_columns(other, load_demonstrations("minari:expert-v0", spec=HYBRID_SPEC)) == []
    assert [path.name for path in store.iterdir()] == ["expert-v0"]


def test_boxes_are_flattened_and_actions_brought_from_their_bounds_to_one() -> None:
    name = foreign(
        spaces.Box(-np.inf, np.inf, (2, 2), np.float64),
        spaces.Box(np.array([0, -np.inf], np.float32), np.array([10, np.inf], np.float32)),
        episode(np.arange(12.0).reshape(3, 2, 2), np.array([[0, 7], [7.5, -3]], np.float32), 2),
    )
    read = load_demonstrations(name)
    assert read.spec == BehaviorSpec((ObservationSpec("observation", (4,)),), ActionSpec(2, bounded=False))
    columns = read.episodes.columns
    assert columns["obs.0"].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert read.episodes.final_observations[0].tolist() == [[8, 9, 10, 11]]
    assert columns["action.continuous"].tolist() == [[-1, 7], [0.5, -3]]
    assert columns["reward"].tolist() == [0, 1]


def test_choices_become_one_hot_observations_and_branches_from_their_start() -> None:
    name = foreign(
        spaces.Dict(
            {
                "place": spaces.Discrete(3, start=1),
                "arm": spaces.Tuple((spaces.MultiBinary(2),)),
                "pair": spaces.MultiDiscrete([2, 3], start=[0, 4]),
            }
        ),
        spaces.MultiDiscrete([3, 2], start=[5, 0]),
        episode(
            {
                "place": np.array([1, 3, 2]),
                "arm": (np.array([[0, 1]] * 3),),
                "pair": np.array([[1, 4], [0, 6], [0, 5]]),
            },
            np.array([[5, 1], [7, 0]]),
            2,
        ),
    )
    read = load_demonstrations(name)
    columns = read.episodes.columns
    seen = {spec.name: columns[f"obs.{i}"].tolist() for i, spec in enumerate(read.spec.observations)}
    assert seen == {
        "arm.0": [[0, 1], [0, 1]],
        "pair": [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]],
        "place": [[1, 0, 0], [0, 0, 1]],
    }
    assert columns["action.discrete"].tolist() == [[0, 1], [2, 0]]
    assert read.spec.action == ActionSpec(0, (3, 2))


def test_an_episode_without_end_is_truncated_where_its_recording_stopped() -> None:
    observations, actions = np.zeros((4, 1), np.float32), np.zeros((3, 1), np.float32)
    box = spaces.Box(-1, 1, (1,), np.float32)
    name = foreign(box, box, episode(observations, actions, 3, terminated=False), episode(observations, actions, 3))
    columns = load_demonstrations(name).episodes.columns
    assert columns["truncated"].tolist() == [False, False, True, False, False, False]
    assert columns["terminated"].tolist() == [False, False, False, False, False, True]


def test_masks_are_read_from_infos_or_from_an_observation() -> None:
    mask = np.array([[1, 0], [1, 1], [0, 1]], np.int8)
    seen = np.zeros((3, 1), np.float32)
    actions = np.array([0, 1])
    for space, observations, infos in (
        (spaces.Box(-1, 1, (1,)), seen, {"action_mask": mask}),
        (
            spaces.Dict({"x": spaces.Box(-1, 1, (1,)), "action_mask": spaces.Box(0, 1, (2,), np.int8)}),
            {"x": seen, "action_mask": mask},
            None,
        ),
    ):
        name = foreign(space, spaces.Discrete(2), episode(observations, actions, 2, infos=infos))
        read = load_demonstrations(name)
        assert [spec.shape for spec in read.spec.observations] == [(1,)]
        assert read.episodes.columns["action_mask"].tolist() == [[True, False], [True, True]]
        minari.delete_dataset("foreign/data-v0")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "minari:mine/gone-v0",
            r"there is no such data set in .*; there are: mine/expert-v0\. Fetch it with `minari d",
        ),
        ("minari:no version", r"a data set is called \[NAMESPACE/\]NAME-vN"),
    ],
)
def test_a_data_set_that_is_not_there_is_refused(name: str, reason: str) -> None:
    store_demonstration("minari:mine/expert-v0", random_demonstration(BehaviorSpec(ONE_VECTOR, ActionSpec(1))))
    with pytest.raises(DemonstrationError, match=reason):
        load_demonstrations(name)


def test_a_damaged_data_set_is_refused(store: Path) -> None:
    store_demonstration("minari:mine/expert-v0", random_demonstration(BehaviorSpec(ONE_VECTOR, ActionSpec(1))))
    file = store / "mine" / "expert-v0" / "data" / "main_data.hdf5"
    file.write_bytes(file.read_bytes()[:500])
    with pytest.raises(DemonstrationError, match="minari:mine/expert-v0: cannot be read: OSError"):
        load_demonstrations("minari:mine/expert-v0")


def test_spaces_without_a_fixed_size_are_refused() -> None:
    name = foreign(spaces.Text(5), spaces.Discrete(2), episode(["a", "b"], np.array([1]), 1))
    with pytest.raises(DemonstrationError, match="observation 'observation' is a Text space"):
        load_demonstrations(name)
