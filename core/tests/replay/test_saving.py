"""Buffers in checkpoints: what is new is written, what counts is listed, what was saved goes on as if never stopped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from agents_core.columns import Batch, Columns
from agents_core.contracts.buffer import Buffer
from agents_core.errors import UserError
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.training import replay_segment
from agents_core.training.checkpoint import CheckpointSaveError, CheckpointStore
from agents_core.training.checkpoint_files import Snapshot
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_model import SMALL_SPEC, SPEC, NaiveBuffer, World, columns, contents, identity, make_buffer

NAME = "walker"


def store_in(directory: Path, keep: int = 5) -> CheckpointStore:
    return CheckpointStore(directory / "checkpoints", keep=keep)


def save(store: CheckpointStore, buffer: Buffer, step: int) -> None:
    store.save({NAME: Snapshot(step, {}, {}, {}, buffer)}, {})


def load(directory: Path, buffer: Buffer, spec: BehaviorSpec = SPEC) -> CheckpointStore:
    store = store_in(directory)
    store.replay.load(NAME, store.load_last()[NAME].replay, buffer, spec)
    return store


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((directory / "replay" / NAME).iterdir())}


def act(world: World, buffer: Buffer, steps: int, naive: NaiveBuffer | None = None) -> None:
    for _ in range(steps):
        ends = ["truncated" if world.rng.random() < 0.1 else "" for _ in range(2)]
        transitions = [world.act(agent, end) for agent, end in enumerate(ends)]
        buffer.add(columns(transitions))
        if naive is not None:
            naive.add(transitions)


def check_same_samples(one: Buffer, other: Buffer) -> None:
    for batch, same in zip(samples(one), samples(other), strict=True):
        assert list(batch) == list(same)
        for name in batch:
            assert torch.equal(batch[name], same[name]), name


def samples(buffer: Buffer) -> list[Batch]:
    rng = np.random.default_rng(9)
    return [buffer.sample(20, rng), buffer.sample_sequences(20, 5, rng)]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=6), st.integers(5, 60), st.booleans())
def test_what_is_loaded_goes_on_like_what_was_saved(
    tmp_path_factory: pytest.TempPathFactory, moments: list[int], buffer_size: int, resumes: bool
) -> None:
    directory = tmp_path_factory.mktemp("run")
    world, buffer, naive = World(), make_buffer(buffer_size), NaiveBuffer(buffer_size)
    store = store_in(directory)
    act(world, buffer, 1, naive)
    for step, more in enumerate(moments):
        act(world, buffer, more, naive)
        save(store, buffer, step)
        loaded = make_buffer(buffer_size)
        resumed = load(directory, loaded)
        check_same_samples(buffer, loaded)
        transitions = columns([world.act(0), world.act(3)])
        for one in (buffer, loaded):
            one.add(transitions)
        naive.add([{name: array[i] for name, array in transitions.fields.items()} for i in range(2)])
        check_same_samples(buffer, loaded)
        assert sorted(map(identity, contents(loaded))) == sorted(map(identity, naive.transitions))
        if resumes:
            buffer, store = loaded, resumed


def test_a_save_writes_only_what_is_new(tmp_path: Path) -> None:
    world, buffer, store = World(), make_buffer(1000), store_in(tmp_path)
    act(world, buffer, 100)
    save(store, buffer, 1)
    before = files(tmp_path)
    act(world, buffer, 30)
    save(store, buffer, 2)
    after = files(tmp_path)
    assert after["1.h5"] == before["1.h5"]
    with h5py.File(tmp_path / "replay" / NAME / "2.h5") as file:
        assert (file.attrs["first"], file.attrs["last"]) == (200, 260)
        assert len(file["reward"]) == 60
    save(store, buffer, 3)
    assert files(tmp_path) == after


def test_many_small_saves_do_not_leave_many_files(tmp_path: Path) -> None:
    world, buffer, store = World(SMALL_SPEC, masked=False), make_buffer(400, SMALL_SPEC), store_in(tmp_path, keep=1)
    act(world, buffer, 200)
    for step in range(60):
        save(store, buffer, step)
        act(world, buffer, 1)
    assert len(files(tmp_path)) < 15
    save(store, buffer, 60)
    loaded = make_buffer(400, SMALL_SPEC)
    load(tmp_path, loaded, SMALL_SPEC)
    check_same_samples(buffer, loaded)


def test_arrays_keep_their_dtype_and_are_compressed(tmp_path: Path) -> None:
    world, buffer = World(), make_buffer(100)
    act(world, buffer, 20)
    save(store_in(tmp_path), buffer, 1)
    with h5py.File(tmp_path / "replay" / NAME / "1.h5") as file:
        assert [str(file[f"obs.{i}"].dtype) for i in range(3)] == ["float32", "uint8", "float64"]
        assert file["obs.1"].shape == (40, 2, 3, 1)
        assert file["obs.1"].compression == "lzf"
        assert file["obs.1"].chunks is not None


def test_files_that_no_checkpoint_lists_are_removed(tmp_path: Path) -> None:
    world, buffer, store = World(), make_buffer(40), store_in(tmp_path, keep=1)
    act(world, buffer, 20)
    save(store, buffer, 1)
    for name in ("77.h5", ".78.h5.new"):
        (tmp_path / "replay" / NAME / name).write_bytes(b"left behind")
    act(world, buffer, 20)
    save(store, buffer, 2)
    assert list(files(tmp_path)) == ["78.h5"]


def test_an_older_checkpoint_keeps_its_files(tmp_path: Path) -> None:
    world, buffer, store = World(), make_buffer(40), store_in(tmp_path, keep=2)
    act(world, buffer, 20)
    save(store, buffer, 1)
    old = make_buffer(40)
    old.load_state_dict(buffer.state_dict())
    act(world, buffer, 20)
    save(store, buffer, 2)
    (tmp_path / "checkpoints" / NAME / "2" / "state.json").write_text("{}")
    loaded = make_buffer(40)
    load(tmp_path, loaded)
    check_same_samples(old, loaded)


def test_a_save_that_failed_leaves_nothing_out_of_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, buffer, store = World(), make_buffer(200), store_in(tmp_path)
    act(world, buffer, 20)
    save(store, buffer, 1)
    act(world, buffer, 20)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("agents_core.training.behavior_checkpoints.write_file", full)
        with pytest.raises(CheckpointSaveError):
            save(store, buffer, 2)
    act(world, buffer, 5)
    save(store, buffer, 3)
    loaded = make_buffer(200)
    load(tmp_path, loaded)
    check_same_samples(buffer, loaded)


@pytest.mark.parametrize("buffer_size", [30, 400])
def test_a_buffer_of_another_size_takes_over_the_newest(tmp_path: Path, buffer_size: int) -> None:
    world, buffer, naive = World(), make_buffer(100), NaiveBuffer(100)
    act(world, buffer, 80, naive)
    save(store_in(tmp_path), buffer, 1)
    loaded = make_buffer(buffer_size)
    store = load(tmp_path, loaded)
    naive.buffer_size = buffer_size
    naive.add([])
    assert sorted(map(identity, contents(loaded))) == sorted(map(identity, naive.transitions))
    act(world, loaded, 30, naive)
    save(store, loaded, 2)
    again = make_buffer(buffer_size)
    load(tmp_path, again)
    assert sorted(map(identity, contents(again))) == sorted(map(identity, naive.transitions))
    check_same_samples(loaded, again)


def saved_run(directory: Path, spec: BehaviorSpec = SPEC, masked: bool = True) -> Path:
    buffer = make_buffer(100, spec)
    act(World(spec, masked), buffer, 30)
    save(store_in(directory), buffer, 1)
    return directory / "replay" / NAME / "1.h5"


def refusal(directory: Path) -> str:
    with pytest.raises(UserError) as refused:
        load(directory, make_buffer(100))
    assert refused.value.exit_code == 2
    assert f"agents resume {directory} --drop-replay" in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("place", [0.0, 0.02, 0.3, 0.6, 0.999])
def test_a_changed_byte_anywhere_is_refused(tmp_path: Path, place: float) -> None:
    path = saved_run(tmp_path)
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 0x10
    path.write_bytes(content)
    assert str(path) in refusal(tmp_path)


@pytest.mark.parametrize("kept", [0, 100, 5000])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, kept: int) -> None:
    path = saved_run(tmp_path)
    path.write_bytes(path.read_bytes()[:kept])
    assert str(path) in refusal(tmp_path)


def test_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    path = saved_run(tmp_path)
    path.unlink()
    assert f"{path}: is missing" in refusal(tmp_path)


def test_transitions_of_other_agents_are_refused_with_both_shapes(tmp_path: Path) -> None:
    path = saved_run(tmp_path / "this")
    other = BehaviorSpec((ObservationSpec("position", (7,)), *SPEC.observations[1:]), ActionSpec(2, (3,)))
    path.write_bytes(saved_run(tmp_path / "other", other).read_bytes())
    message = refusal(tmp_path / "this")
    assert str(path) in message
    assert "obs.0: saved float32[7], here float32[2]" in message


def test_a_buffer_whose_state_lacks_something_is_refused(tmp_path: Path) -> None:
    saved_run(tmp_path)
    store = store_in(tmp_path)
    replay = store.load_last()[NAME].replay
    assert replay is not None
    with pytest.raises(UserError, match="transitions are missing"):
        store.replay.load(
            NAME, type(replay)(replay.segments, {**replay.rest, "stored": [0, 70]}), make_buffer(100), SPEC
        )


class PlainBuffer(Buffer):
    """A buffer as somebody writes it who knows nothing of files."""

    def __init__(self) -> None:
        self.rewards = np.empty(0, np.float32)

    def add(self, transitions: Columns) -> None:
        self.rewards = np.concatenate([self.rewards, transitions["reward"]])

    def sample(self, batch_size: int, generator: np.random.Generator) -> Batch:
        raise NotImplementedError

    def sample_sequences(self, count: int, length: int, generator: np.random.Generator) -> Batch:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.rewards)

    def state_dict(self) -> dict[str, Any]:
        return {"rewards": self.rewards}

    def load_state_dict(self, state: Any) -> None:
        self.rewards = state["rewards"]


def test_a_buffer_with_nothing_but_a_state_dict_is_saved_whole(tmp_path: Path) -> None:
    buffer = PlainBuffer()
    act(World(), buffer, 4)
    save(store_in(tmp_path), buffer, 1)
    loaded = PlainBuffer()
    load(tmp_path, loaded)
    assert (loaded.rewards == buffer.rewards).all()
    assert not (tmp_path / "replay").exists()


def test_an_empty_buffer_is_saved(tmp_path: Path) -> None:
    save(store_in(tmp_path), make_buffer(100), 1)
    loaded = make_buffer(100)
    load(tmp_path, loaded)
    assert len(loaded) == 0


def test_a_resume_without_saved_transitions_warns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store_in(tmp_path).save({NAME: Snapshot(1, {}, {}, {})}, {})
    load(tmp_path, make_buffer(100))
    assert "its buffer starts empty" in caplog.text


def test_pieces_may_be_smaller_than_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_segment, "_PIECE", 8)
    buffer = make_buffer(100)
    act(World(), buffer, 73)
    save(store_in(tmp_path), buffer, 1)
    loaded = make_buffer(100)
    load(tmp_path, loaded)
    check_same_samples(buffer, loaded)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")
def test_every_listed_file_is_whole_whenever_the_process_was_killed(tmp_path: Path) -> None:
    script = Path(__file__).parent / "kill_while_saving_replay.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "10"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    kills, saves = map(int, done.stdout.split())
    assert kills == 10
    assert saves >= 10


def test_memory_that_is_not_there_is_refused_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents_core.replay.free_memory.free_memory", lambda: 10**6)
    with pytest.raises(UserError) as refused:
        make_buffer(1_000_000)
    message = str(refused.value)
    assert "behaviors.walker.trainer.buffer.buffer_size: 1000000 transitions need" in message
    fits = int(message.split("at most ")[1].split()[0])
    assert len(make_buffer(fits)) == 0
    with pytest.raises(UserError):
        make_buffer(fits + 1)
