"""Sources are found, joined, fitted to what a policy expects, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from agents_core.columns import Array
from agents_core.demonstrations import (
    DemonstrationError,
    joined,
    load_demonstrations,
    read_demonstrations,
    store_demonstration,
)
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.demonstrations import HYBRID_SPEC, differing_columns, random_demonstration, with_columns
from agents_core.testing.installed import install_plugin
from agents_core.trajectory import Trajectories

TWO_VECTORS = BehaviorSpec((ObservationSpec("a", (2,)), ObservationSpec("b", (2,))), ActionSpec(1))


def test_the_files_of_a_folder_are_joined_by_name_and_others_ignored(tmp_path: Path) -> None:
    made = [random_demonstration(seed=seed) for seed in range(3)]
    for name, part in zip(["c.h5", "a.hdf5", "B.H5"], made, strict=True):
        store_demonstration(tmp_path / name, part)
    (tmp_path / "notes.txt").write_text("nothing to see", encoding="utf-8")
    expected = joined([made[2], made[1], made[0]])
    assert differing_columns(expected, load_demonstrations(tmp_path)) == []
    listed = load_demonstrations([tmp_path / "c.h5", str(tmp_path / "a.hdf5")])
    assert differing_columns(joined(made[:2]), listed) == []


def test_no_episode_goes_on_across_files() -> None:
    made = [random_demonstration(lengths=(2, 3), seed=seed) for seed in range(2)]
    episodes = joined(made).episodes
    assert episodes.lengths.tolist() == [2, 3, 2, 3]
    assert episodes.columns["episode_id"].tolist() == [0, 0, 1, 1, 1, 2, 2, 3, 3, 3]
    following = episodes.next_observations()[0]
    np.testing.assert_array_equal(following[4], made[0].episodes.final_observations[0][1])
    np.testing.assert_array_equal(following[5], made[1].episodes.columns["obs.0"][1])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gone.h5", "there is no such file or folder"),
        ("empty", r"no demonstration lies in this folder; looked for .*\.h5"),
        ("notes.txt", r"no installed plugin knows demonstrations that end in '.txt'; known: .*\.h5"),
        ("imitari:walker/expert-v0", "no installed plugin reads 'imitari'"),
    ],
)
def test_what_is_not_there_or_unknown_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").touch()
    with pytest.raises(DemonstrationError, match=reason):
        load_demonstrations(name if ":" in name else tmp_path / name)


OTHER_FORMAT = """
    from agents_core.contracts.demonstration import DemonstrationFormat
    from agents_core.options import ConfigModel
    from agents_core.testing.demonstrations import random_demonstration

    class Config(ConfigModel): ...

    class Other(DemonstrationFormat):
        def __init__(self, context): ...

        def read(self, source):
            return random_demonstration(seed=77)

    def recognizes(path):
        with open(path, "rb") as file:
            return file.read(5) == b"other"
    """


@pytest.fixture
def other_format(site: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Installs a format with the suffix of core's own."""

    def install(fields: str = "") -> None:
        hooks = f"""
        @hookimpl
        def agents_demonstration_formats():
            return [DemonstrationFormatSpec(name="other", summary="Other", config="agents_other.parts:Config",
                                            factory="agents_other.parts:Other", suffixes=(".H5",){fields})]
        """
        install_plugin(site, "agents-other", hooks, files={"parts.py": OTHER_FORMAT})
        monkeypatch.setenv("AGENTS_LOAD_PLUGINS", "other")

    return install


def test_a_format_that_recognizes_its_files_shares_the_suffix_of_another(
    tmp_path: Path, other_format: Callable[[str], None]
) -> None:
    other_format(', recognizes="agents_other.parts:recognizes"')
    made = random_demonstration(seed=1)
    store_demonstration(tmp_path / "a.h5", made)
    (tmp_path / "b.h5").write_bytes(b"other bytes")
    expected = joined([made, random_demonstration(seed=77)])
    assert differing_columns(expected, load_demonstrations(tmp_path)) == []
    store_demonstration(tmp_path / "b.h5", made, force=True)
    assert differing_columns(made, load_demonstrations(tmp_path / "b.h5")) == []
    (tmp_path / "c.h5").write_bytes(b"no format's bytes")
    with pytest.raises(DemonstrationError, match=r"c\.h5: not a readable HDF5 demonstration"):
        load_demonstrations(tmp_path / "c.h5")


def test_two_formats_of_one_suffix_are_refused_where_it_is_used(
    tmp_path: Path, other_format: Callable[[str], None]
) -> None:
    other_format("")
    with pytest.raises(DemonstrationError, match=r"'hdf5' of agents-core .* and .*'other' of .* both know '\.h5'"):
        store_demonstration(tmp_path / "expert.h5", random_demonstration())


def test_a_list_without_entries_and_unknown_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DemonstrationError, match="no demonstration is named"):
        load_demonstrations([])
    store_demonstration(tmp_path / "expert.h5", random_demonstration())
    with pytest.raises(DemonstrationError, match="no option 'pairing' here; options: none"):
        load_demonstrations(tmp_path / "expert.h5", options={"pairing": "auto"})


@pytest.mark.parametrize(
    "expected",
    [
        BehaviorSpec(HYBRID_SPEC.observations[:1], HYBRID_SPEC.action),
        BehaviorSpec(HYBRID_SPEC.observations, ActionSpec(2, (3, 3))),
        BehaviorSpec(HYBRID_SPEC.observations, ActionSpec(1, (3, 2))),
        BehaviorSpec((ObservationSpec("position", (4,)), HYBRID_SPEC.observations[1]), HYBRID_SPEC.action),
        BehaviorSpec(
            (HYBRID_SPEC.observations[0], replace(HYBRID_SPEC.observations[1], dtype="float32")), HYBRID_SPEC.action
        ),
    ],
)
def test_another_spec_is_refused_with_both_shown(tmp_path: Path, expected: BehaviorSpec) -> None:
    store_demonstration(tmp_path / "expert.h5", random_demonstration())
    with pytest.raises(DemonstrationError) as raised:
        load_demonstrations(tmp_path / "expert.h5", spec=expected)
    message = str(raised.value)
    assert (
        "demonstration: position float32[3], camera uint8[4, 5, 3] (image); 2 continuous actions, branches (3, 2)"
        in (message)
    )
    assert "expected:      " in message


def test_a_second_file_of_another_spec_is_refused(tmp_path: Path) -> None:
    store_demonstration(tmp_path / "a.h5", random_demonstration())
    store_demonstration(tmp_path / "b.h5", random_demonstration(TWO_VECTORS))
    with pytest.raises(DemonstrationError, match=r"b\.h5: it was recorded with another behavior spec"):
        load_demonstrations(tmp_path)


def test_observations_are_matched_by_name_or_else_by_place(tmp_path: Path) -> None:
    made = random_demonstration(TWO_VECTORS)
    store_demonstration(tmp_path / "expert.h5", made)
    swapped = BehaviorSpec(TWO_VECTORS.observations[::-1], TWO_VECTORS.action)
    read = load_demonstrations(tmp_path / "expert.h5", spec=swapped)
    np.testing.assert_array_equal(read.episodes.columns["obs.0"], made.episodes.columns["obs.1"])
    np.testing.assert_array_equal(read.episodes.final_observations[1], made.episodes.final_observations[0])
    renamed = BehaviorSpec((ObservationSpec("c", (2,)), ObservationSpec("a", (2,), "float64")), TWO_VECTORS.action)
    read = load_demonstrations(tmp_path / "expert.h5", spec=renamed)
    np.testing.assert_array_equal(read.episodes.columns["obs.0"], made.episodes.columns["obs.0"])
    assert read.spec == renamed
    assert read.episodes.columns["obs.1"].dtype == np.float64


def test_actions_outside_of_the_bounds_are_clipped_where_there_are_bounds(tmp_path: Path) -> None:
    spec = BehaviorSpec((ObservationSpec("seen", (1,)),), ActionSpec(1, bounded=False))
    made = random_demonstration(spec, (3,))
    made.episodes.columns["action.continuous"][:] = [[-3], [0.5], [2]]
    store_demonstration(tmp_path / "expert.h5", made)
    bounded = BehaviorSpec(spec.observations, ActionSpec(1))
    actions = [
        load_demonstrations(tmp_path / "expert.h5", spec=wanted).episodes.columns["action.continuous"].ravel().tolist()
        for wanted in (spec, bounded)
    ]
    assert actions == [[-3, 0.5, 2], [-1, 0.5, 1]]


def test_what_no_learner_could_use_is_refused(tmp_path: Path) -> None:
    made = random_demonstration()

    def changed(**columns: Array) -> str:
        with pytest.raises(DemonstrationError) as raised:
            store_demonstration(tmp_path / "expert.h5", with_columns(made, columns))
        return str(raised.value).partition("expert.h5: ")[2]

    reward = made.episodes.columns["reward"]
    assert "column 'reward' is float64[] a row, expected float32[]" in changed(reward=reward.astype(np.float64))
    nothing = np.zeros(len(made), np.bool_)
    assert "do not agree at transition 2" in changed(truncated=nothing)
    empty = replace(
        made,
        episodes=Trajectories(
            made.episodes.columns.take(slice(0)),
            np.empty(0, np.int64),
            tuple(o[:0] for o in made.episodes.final_observations),
        ),
    )
    with pytest.raises(DemonstrationError, match="it holds no transition"):
        store_demonstration(tmp_path / "expert.h5", empty)


def test_actions_that_are_no_choice_are_kept_but_not_learned_from(tmp_path: Path) -> None:
    made = random_demonstration()
    made.episodes.columns["action.discrete"][4:, 1] = 2
    store_demonstration(tmp_path / "expert.h5", made)
    read = read_demonstrations(tmp_path / "expert.h5")
    assert differing_columns(made, read) == []
    assert "of transition 4 is outside of branches (3, 2)" in read.warnings[0]
    with pytest.raises(DemonstrationError, match=r"of transition 4 is outside of branches \(3, 2\), .* 2 of 6"):
        load_demonstrations(tmp_path / "expert.h5")
