"""Files of saved transitions whose checksum is right and whose content is not: none is taken over."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import h5py
import numpy as np
import pytest
from agents_core.errors import UserError
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.training.checkpoint import CheckpointStore
from agents_core.training.checkpoint_files import Snapshot
from agents_core.training.saved_replay import SavedReplay
from replay_model import SMALL_SPEC, World, columns, contents, identity, make_buffer

Edit = Callable[[h5py.File], Any]

COUNT = 60
ENDS = 9
"""Of the 60 transitions each 7th ends an episode, and nothing followed the last one yet."""


def save(directory: Path, spec: BehaviorSpec = SMALL_SPEC) -> SavedReplay:
    world, buffer = World(spec, masked=False), make_buffer(100, spec)
    for i in range(COUNT):
        buffer.add(columns([world.act(0, "truncated" if i % 7 == 6 else "")]))
    store = CheckpointStore(directory / "checkpoints")
    store.save({"walker": Snapshot(1, {}, {}, {}, buffer)}, {})
    replay = store.load_last()["walker"].replay
    assert replay is not None
    return replay


def load(directory: Path, saved: SavedReplay, spec: BehaviorSpec = SMALL_SPEC) -> Any:
    buffer = make_buffer(100, spec)
    CheckpointStore(directory / "checkpoints").replay.load("walker", saved, buffer, spec)
    return buffer


def path_in(directory: Path) -> Path:
    return directory / "replay" / "walker" / "1.h5"


def forged(directory: Path, edit: Edit) -> SavedReplay:
    """What a checkpoint lists once somebody changed a file and wrote its new size and checksum down."""
    saved = save(directory)
    with h5py.File(path_in(directory), "r+") as file:
        edit(file)
    content = path_in(directory).read_bytes()
    return SavedReplay([replace(saved.segments[0], size=len(content), checksum=crc32(content))], saved.rest)


def check_refusal(directory: Path, saved: SavedReplay, reason: str) -> None:
    with pytest.raises(UserError, match=re.escape(str(path_in(directory))) + ": .*" + reason) as refused:
        load(directory, saved)
    assert refused.value.exit_code == 2
    assert f"agents resume {directory} --drop-replay" in str(refused.value)


def replaced(name: str, **other: Any) -> Edit:
    def edit(file: h5py.File) -> None:
        del file[name]
        file.create_dataset(name, **other)

    return edit


def with_values(name: str, value: float) -> Edit:
    return lambda file: file[name].__setitem__(3, value)


def with_attribute(name: str, value: Any) -> Edit:
    return lambda file: file.attrs.__setitem__(name, value)


def test_a_file_with_another_checksum_in_its_list_and_right_content_is_taken_over(tmp_path: Path) -> None:
    assert len(load(tmp_path, forged(tmp_path, lambda file: file.attrs.__setitem__("note", "mine")))) == COUNT


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (with_attribute("format", "agents replay 9"), "'format' is 'agents replay 9', it must be 'agents replay 1'"),
        (lambda file: file.attrs.__delitem__("format"), "'format' is 'nothing', it must be 'agents replay 1'"),
        (with_attribute("first", 1), "'first' is '1', it must be '0'"),
        (with_attribute("last", 10**15), "'last' is '1000000000000000', it must be '60'"),
        (with_attribute("last", [60, 60]), r"'last' is '\[60 60\]', it must be '60'"),
        (lambda file: file.attrs.__delitem__("empty"), "empty"),
        (with_attribute("empty", "{"), "Expecting"),
        (with_attribute("empty", '{"junk": ["<f8", [1000000000000]]}'), "'empty' lists 'junk' of <f8"),
        (with_attribute("empty", '{"junk": ["|O", [0]]}'), r"'empty' lists 'junk' of \|O"),
    ],
)
def test_a_file_that_says_other_things_of_itself_is_refused(tmp_path: Path, edit: Edit, reason: str) -> None:
    check_refusal(tmp_path, forged(tmp_path, edit), reason)


@pytest.mark.parametrize("last", [10**15, 61, 59, 0])
def test_a_list_with_another_number_of_transitions_is_refused(tmp_path: Path, last: int) -> None:
    saved = save(tmp_path)
    wrong = SavedReplay([replace(saved.segments[0], last=last)], saved.rest)
    check_refusal(tmp_path, wrong, f"'last' is '60', it must be '{last}'")


def test_a_number_of_transitions_that_file_and_list_claim_is_compared_with_the_rows(tmp_path: Path) -> None:
    saved = forged(tmp_path, with_attribute("last", 10**15))
    wrong = SavedReplay([replace(saved.segments[0], last=10**15)], saved.rest)
    check_refusal(tmp_path, wrong, "/obs.0 has 60 rows, 1000000000000000 belong to")


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (replaced("reward", data=np.zeros(3, np.float32)), f"/reward has 3 rows, {COUNT} belong to"),
        (
            replaced("end.obs.0", data=np.zeros((2, 2), np.float32)),
            f"/end.obs.0 has 2 rows, {ENDS} belong to {COUNT} transitions with {ENDS} ends",
        ),
        (lambda file: file.__delitem__("end.number"), f"/end.obs.0 has {ENDS} rows, 0 belong to"),
        (lambda file: file.create_dataset("junk", data=np.zeros(7)), "/junk has 7 rows"),
    ],
)
def test_an_array_with_other_rows_than_there_are_transitions_is_refused(
    tmp_path: Path, edit: Edit, reason: str
) -> None:
    check_refusal(tmp_path, forged(tmp_path, edit), reason)


@pytest.mark.parametrize("name", ["reward", "agent_id", "terminated", "predecessor", "obs.0", "end.obs.0"])
def test_a_file_without_one_of_the_fields_is_refused(tmp_path: Path, name: str) -> None:
    check_refusal(tmp_path, forged(tmp_path, lambda file: file.__delitem__(name)), f"{name}: saved nothing, here ")


@pytest.mark.parametrize(
    ("name", "array", "reason"),
    [
        ("predecessor", np.zeros((COUNT, 2), np.int64), r"saved int64\[2\], here int64\[\]"),
        ("predecessor", np.zeros(COUNT), r"saved float64\[\], here int64\[\]"),
        ("end.number", np.zeros((ENDS, 1), np.int64), r"saved int64\[1\], here int64\[\]"),
        ("end.obs.0", np.zeros((ENDS, 3), np.float32), r"saved float32\[3\], here float32\[2\]"),
        ("reward", np.zeros(COUNT, np.float64), r"saved float64\[\], here float32\[\]"),
        ("reward", np.zeros(COUNT, ">f4"), r"saved >f4\[\], here float32\[\]"),
        ("terminated", np.zeros(COUNT, np.int8), r"saved int8\[\], here bool\[\]"),
        ("obs.0", np.zeros((COUNT, 5), np.float32), r"saved float32\[5\], here float32\[2\]"),
    ],
)
def test_a_field_of_another_shape_or_dtype_is_refused(tmp_path: Path, name: str, array: Any, reason: str) -> None:
    check_refusal(tmp_path, forged(tmp_path, replaced(name, data=array)), f"{name}: {reason}")


@pytest.mark.parametrize(
    "name", ["junk", "obs.1", "memory.actor", "action_mask", "next_obs.0", "successor", "end.junk"]
)
def test_a_field_that_the_buffer_does_not_have_is_refused(tmp_path: Path, name: str) -> None:
    rows = np.zeros((ENDS if name.startswith("end.") else COUNT, 1000), np.float32)
    saved = forged(tmp_path, lambda file: file.create_dataset(name, data=rows))
    check_refusal(tmp_path, saved, rf"{name}: saved float32\[1000\], here nothing")


def huge(name: str, shape: tuple[int, ...]) -> Edit:
    """Nothing of it is stored."""
    return lambda file: file.create_dataset(name, shape, np.float64, chunks=(1,) * len(shape))


def in_a_chunk_of_zeros(file: h5py.File) -> None:
    """As much is stored as 32 MB of zeros need, for 60 numbers."""
    del file["reward"]
    options: dict[str, Any] = {"chunks": (2**23,), "maxshape": (None,), "compression": "gzip"}
    file.create_dataset("reward", data=np.ones(COUNT, np.float32), **options)


def in_one_chunk(file: h5py.File) -> None:
    """Unpacking one number would take all of the chunk."""
    del file["reward"]
    file.create_dataset("reward", (COUNT,), np.float32, chunks=(10**9,), maxshape=(None,))


@pytest.mark.parametrize(
    ("edit", "name"),
    [
        (huge("junk", (COUNT, 10**8)), "junk"),
        (replaced("end.number", shape=(10**12,), dtype=np.int64, chunks=(1024,)), "end.number"),
        (replaced("reward", shape=(10**12,), dtype=np.float32, chunks=(1024,)), "reward"),
        (lambda file: file["predecessor"].resize(10**12, axis=0), "predecessor"),
        (in_one_chunk, "reward"),
        (in_a_chunk_of_zeros, "reward"),
    ],
)
def test_an_array_that_claims_more_than_is_stored_is_refused_before_memory_is_taken(
    tmp_path: Path, edit: Edit, name: str
) -> None:
    check_refusal(tmp_path, forged(tmp_path, edit), f"/{name} is cut: .* bytes for an array of ")


def soft_link(file: h5py.File) -> None:
    file.move("reward", "agent_reward")
    file["reward"] = h5py.SoftLink("/agent_reward")


def external_link(file: h5py.File) -> None:
    with h5py.File(Path(file.filename).with_name("other.h5"), "w") as other:
        other["x"] = np.full(COUNT, 7, np.float32)
    del file["reward"]
    file["reward"] = h5py.ExternalLink("other.h5", "x")


def external_storage(file: h5py.File) -> None:
    elsewhere = Path(file.filename).with_name("secret")
    elsewhere.write_bytes(bytes(4 * COUNT))
    del file["reward"]
    file.create_dataset("reward", (COUNT,), np.float32, external=[(str(elsewhere), 0, 4 * COUNT)])


def virtual_dataset(file: h5py.File) -> None:
    with h5py.File(Path(file.filename).with_name("other.h5"), "w") as other:
        other["x"] = np.full(COUNT, 7, np.float32)
    layout = h5py.VirtualLayout((COUNT,), np.float32)
    layout[:] = h5py.VirtualSource(Path(file.filename).with_name("other.h5"), "x", (COUNT,))
    del file["reward"]
    file.create_virtual_dataset("reward", layout)


def folder(file: h5py.File) -> None:
    del file["reward"]
    file.create_group("reward")


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (soft_link, "/reward is missing, or a link to elsewhere"),
        (external_link, "/reward is missing, or a link to elsewhere"),
        (external_storage, "/reward has its numbers elsewhere"),
        (virtual_dataset, "/reward has its numbers elsewhere"),
        (folder, "/reward is no array of numbers"),
        (replaced("reward", data=[b"text"] * COUNT), "/reward is no array of numbers"),
        (replaced("reward", data=np.float32(1)), "/reward is no array of numbers"),
    ],
)
def test_what_is_no_plain_array_of_the_file_itself_is_refused(tmp_path: Path, edit: Edit, reason: str) -> None:
    check_refusal(tmp_path, forged(tmp_path, edit), reason)


@pytest.mark.parametrize("name", ["reward", "obs.0", "end.obs.0", "action.continuous"])
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_numbers_that_are_not_finite_are_refused(tmp_path: Path, name: str, value: float) -> None:
    check_refusal(tmp_path, forged(tmp_path, with_values(name, value)), f"{name} holds a number that is not finite")


@pytest.mark.parametrize("number", [3, 59, 10**17])
def test_a_transition_that_follows_itself_or_a_later_one_is_refused(tmp_path: Path, number: int) -> None:
    saved = forged(tmp_path, with_values("predecessor", number))
    check_refusal(tmp_path, saved, "predecessor names a transition that does not come before")


@pytest.mark.parametrize("number", [-1, 6, 60, 10**17])
def test_ends_that_are_not_in_their_order_are_refused(tmp_path: Path, number: int) -> None:
    saved = forged(tmp_path, with_values("end.number", number))
    check_refusal(tmp_path, saved, "its ends are not transitions 0 to 59 in their order")


def test_observations_without_numbers_are_taken_over_with_their_ends(tmp_path: Path) -> None:
    spec = BehaviorSpec((*SMALL_SPEC.observations, ObservationSpec("nothing", (0,))), ActionSpec(1))
    loaded = load(tmp_path, save(tmp_path, spec), spec)
    with h5py.File(path_in(tmp_path)) as file:
        assert json.loads(file.attrs["empty"])["end.obs.1"] == ["<f4", [0]]
    assert len({identity(transition) for transition in contents(loaded)}) == COUNT


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    saved = save(tmp_path)
    path_in(tmp_path).unlink()
    os.mkfifo(path_in(tmp_path))
    check_refusal(tmp_path, saved, "is no file")


def test_what_another_kind_of_buffer_saved_is_refused_as_that(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="was saved by another kind of buffer: what it saved has no 'stored'"):
        load(tmp_path, SavedReplay([], {"capacity": 3}))
