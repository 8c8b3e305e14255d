"""Demonstrations in HDF5: what is written is read, and damage is found."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from agents_core.demonstrations import (
    DemonstrationError,
    joined,
    load_demonstrations,
    store_demonstration,
)
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.demonstrations import differing_columns, random_demonstration, with_columns
from hypothesis import given, settings
from hypothesis import strategies as st

SHAPES = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple)
OBSERVATIONS = st.lists(st.tuples(SHAPES, st.sampled_from(["float32", "uint8", "bool"])), min_size=1, max_size=3).map(
    lambda seen: tuple(ObservationSpec(f"seen {i}", shape, dtype) for i, (shape, dtype) in enumerate(seen))
)
ACTIONS = st.tuples(st.integers(0, 3), st.lists(st.integers(1, 4), max_size=3).map(tuple)).filter(
    lambda sizes: sizes[0] > 0 or bool(sizes[1])
)


@settings(max_examples=40, deadline=None)
@given(
    seen=OBSERVATIONS,
    action=ACTIONS,
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    seed=st.integers(0, 99),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    seen: tuple[ObservationSpec, ...],
    action: tuple[int, tuple[int, ...]],
    lengths: list[int],
    seed: int,
) -> None:
    file = tmp_path_factory.mktemp("hdf5") / "expert.h5"
    spec = BehaviorSpec(seen, ActionSpec(*action, bounded=bool(seed % 2)))
    made = random_demonstration(spec, lengths, seed=seed, masked=bool(action[1]) and seed % 3 == 0)
    store_demonstration(file, made)
    assert differing_columns(made, load_demonstrations(file)) == []


def test_appended_episodes_stand_behind_those_that_were_there(tmp_path: Path) -> None:
    file = tmp_path / "expert.h5"
    first, second = random_demonstration(seed=1), random_demonstration(lengths=(4, 4), seed=2)
    store_demonstration(file, first, append=True)
    store_demonstration(file, second, append=True)
    assert differing_columns(joined([first, second]), load_demonstrations(file)) == []
    masked = random_demonstration(seed=3, masked=True)
    store_demonstration(file, masked, append=True)
    read = load_demonstrations(file)
    assert differing_columns(joined([first, second, masked]), read) == []
    assert read.episodes.columns["action_mask"][: len(first) + len(second)].all()
    assert [path.name for path in tmp_path.iterdir()] == ["expert.h5"]


def test_another_spec_is_not_appended_and_the_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "expert.h5"
    store_demonstration(file, random_demonstration())
    before = file.read_bytes()
    other = random_demonstration(BehaviorSpec((ObservationSpec("seen", (2,)),), ActionSpec(1)))
    with pytest.raises(DemonstrationError, match=r"seen float32\[2\]; 1 continuous action\n.*position float32\[3\]"):
        store_demonstration(file, other, append=True)
    assert file.read_bytes() == before


def test_a_file_is_not_overwritten_unasked(tmp_path: Path) -> None:
    file = tmp_path / "expert.h5"
    store_demonstration(file, random_demonstration(seed=1))
    with pytest.raises(DemonstrationError, match="there already; --force replaces it, --append"):
        store_demonstration(file, random_demonstration(seed=2))
    store_demonstration(file, random_demonstration(seed=2), force=True)
    assert differing_columns(random_demonstration(seed=2), load_demonstrations(file)) == []


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    made = random_demonstration()
    broken = with_columns(made, {"reward": np.full(len(made), np.nan, np.float32)})
    with pytest.raises(DemonstrationError, match="reward is not finite at row 0"):
        store_demonstration(tmp_path / "expert.h5", broken)
    assert list(tmp_path.iterdir()) == []


def test_every_damaged_byte_is_harmless_or_found(tmp_path: Path) -> None:
    file = tmp_path / "expert.h5"
    made = random_demonstration(lengths=(40, 60))
    store_demonstration(file, made)
    whole, generator = file.read_bytes(), np.random.default_rng(0)
    messages = []
    for _ in range(150):
        damaged = bytearray(whole)
        for place in generator.integers(len(whole), size=3):
            damaged[place] ^= int(generator.integers(1, 256))
        file.write_bytes(damaged)
        try:
            read = load_demonstrations(file)
        except DemonstrationError as error:
            messages.append(str(error))
        else:
            assert differing_columns(made, read) == []
    assert len(messages) > 50
    assert all(message.startswith(str(file)) for message in messages)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "file signature not found|truncated"),
        (b"nonsense" * 99, "file signature not found"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n", "it is a Git LFS pointer"),
    ],
)
def test_a_file_that_is_no_hdf5_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "expert.h5"
    file.write_bytes(content)
    with pytest.raises(DemonstrationError, match=rf"expert\.h5: not a readable HDF5 demonstration: .*({reason})"):
        load_demonstrations(file)


def test_a_cut_or_foreign_hdf5_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "expert.h5"
    store_demonstration(file, random_demonstration())
    file.write_bytes(file.read_bytes()[:-700])
    with pytest.raises(DemonstrationError, match="truncated"):
        load_demonstrations(file)
    with h5py.File(file, "w") as other:
        other["numbers"] = np.arange(3)
    with pytest.raises(DemonstrationError, match="some other HDF5 file"):
        load_demonstrations(file)


def test_a_file_that_claims_more_than_it_holds_takes_no_memory(tmp_path: Path) -> None:
    file = tmp_path / "expert.h5"
    store_demonstration(file, random_demonstration())
    with h5py.File(file, "r+") as opened:
        opened["columns/reward"].resize(10**12, axis=0)
    with pytest.raises(DemonstrationError, match=r"/columns/reward is cut: .* bytes for an array of 4000000000000"):
        load_demonstrations(file)
