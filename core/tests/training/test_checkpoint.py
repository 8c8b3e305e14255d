"""A run's checkpoints: whole, of one moment, and still there whatever happens to the process or the disk."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import logging
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from agents_core.errors import AgentsError, UserError
from agents_core.training import behavior_checkpoints, durable
from agents_core.training.checkpoint import CheckpointSaveError, CheckpointStore
from agents_core.training.checkpoint_files import Snapshot, behavior_name, folder_name
from agents_core.training.state_files import DamagedFileError, UnsavableStateError
from hypothesis import given
from hypothesis import strategies as st

VERSIONS = {"agents-core": "0.1.0", "agents-ppo": "0.1.2"}


def snapshot(step: int, value: float = 0.0) -> Snapshot:
    return Snapshot(
        step=step,
        policy={"body.weight": torch.full((2, 3), value), "count": 2**70},
        trainer={"critic": {"bias": np.full(4, value)}, "optimizer": [{"lr": 3e-4, "moment": torch.full((2,), value)}]},
        state={"step": step, "value": value, "recent": [1.0, value]},
    )


def store_in(tmp_path: Path, keep: int = 5) -> CheckpointStore:
    return CheckpointStore(tmp_path / "checkpoints", keep=keep, versions=VERSIONS)


def values(store: CheckpointStore) -> dict[str, float]:
    """The value that each behavior of the newest save was saved with, found equal in all its parts."""
    found = {}
    for name, checkpoint in store.load_last().items():
        value = checkpoint.state["value"]
        assert checkpoint.policy["body.weight"].tolist() == [[value] * 3] * 2
        assert checkpoint.trainer["critic"]["bias"].tolist() == [value] * 4
        assert checkpoint.run == {"value": value}
        found[name] = value
    return found


def save(store: CheckpointStore, step: int, value: float, names: tuple[str, ...] = ("a", "b"), **options: Any) -> None:
    store.save({name: snapshot(step, value) for name in names}, {"value": value}, **options)


def files_under(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def test_a_checkpoint_comes_back_whole_with_its_versions(tmp_path: Path) -> None:
    saved = snapshot(100, 1.5)
    paths = store_in(tmp_path).save({"walker": saved}, {"clock": {"seconds": 2.5}})
    assert paths == {"walker": tmp_path / "checkpoints" / "walker" / "100"}
    checkpoint = store_in(tmp_path).load("walker", "last")
    assert (checkpoint.behavior, checkpoint.step, checkpoint.versions) == ("walker", 100, VERSIONS)
    assert checkpoint.state == saved.state
    assert checkpoint.run == {"clock": {"seconds": 2.5}}
    assert checkpoint.policy["count"] == 2**70
    assert torch.equal(checkpoint.policy["body.weight"], torch.full((2, 3), 1.5))
    assert checkpoint.trainer["optimizer"][0]["lr"] == 3e-4
    assert torch.equal(checkpoint.trainer["optimizer"][0]["moment"], torch.full((2,), 1.5))
    assert checkpoint.path == paths["walker"]


def test_the_files_are_where_they_are_documented_and_nothing_else_is(tmp_path: Path) -> None:
    save(store_in(tmp_path), 100, 1.0, ("a",), best=["a"])
    assert files_under(tmp_path) == {
        f"checkpoints/{name}"
        for name in (
            "saves.json",
            "a/best",
            "a/last",
            "a/100/policy.safetensors",
            "a/100/trainer.safetensors",
            "a/100/state.json",
        )
    }
    assert (tmp_path / "checkpoints" / "a" / "last").read_text() == "100\n"


def test_evaluation_reads_neither_the_trainer_nor_the_run(tmp_path: Path) -> None:
    save(store_in(tmp_path), 100, 1.0, ("a",))
    (tmp_path / "checkpoints" / "a" / "100" / "trainer.safetensors").unlink()
    (tmp_path / "checkpoints" / "saves.json").unlink()
    policy = store_in(tmp_path).load_policy("a")
    assert policy.policy["body.weight"].tolist() == [[1.0] * 3] * 2
    assert policy.state["step"] == 100


def test_two_equal_runs_write_equal_files(tmp_path: Path) -> None:
    for run in ("one", "two"):
        store = store_in(tmp_path / run)
        for step in (10, 20, 20):
            save(store, step, float(step))
    contents = [
        {name: (tmp_path / run / name).read_bytes() for name in files_under(tmp_path / run)} for run in ("one", "two")
    ]
    assert contents[0] == contents[1]


def test_which_checkpoint_is_read(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    save(store, 10, 1.0)
    save(store, 20, 2.0, best=["a"])
    save(store, 30, 3.0)
    assert [store.load("a", which).step for which in ("best", "last", 10, "10", None)] == [20, 30, 10, 10, 20]
    assert store.load("b").step == 30
    assert store.behaviors() == ["a", "b"]
    assert store.steps("a") == [10, 20, 30]
    assert store.named_step("a", "best") == 20
    assert store.named_step("b", "last") == 30
    with pytest.raises(ValueError, match="'c'"):
        save(store, 40, 4.0, best=["c"])


def test_what_is_not_there_is_refused_with_what_is(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with pytest.raises(UserError, match=r"behavior 'walker' has no checkpoint; there are checkpoints of: none$"):
        store.load("walker")
    with pytest.raises(UserError, match="holds no checkpoint to continue from"):
        store.load_last()
    save(store, 10, 1.0, ("walker",))
    with pytest.raises(UserError, match=r"checkpoints of: walker; did you mean 'walker'\?"):
        store.load("Walker")
    for which in ("best", 11, "eleven"):
        with pytest.raises(UserError, match=rf"there is no checkpoint '?{which}'?; there are: last, 10"):
            store.load("walker", which)


def test_where_the_best_checkpoint_was_removed_by_hand_the_last_one_is_read(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    save(store, 10, 1.0, best=["a"])
    save(store, 20, 2.0)
    shutil.rmtree(tmp_path / "checkpoints" / "a" / "10")
    assert store.load("a").step == 20
    with pytest.raises(UserError, match="no checkpoint 'best'"):
        store.load("a", "best")


def test_the_newest_checkpoints_and_the_best_are_kept(tmp_path: Path) -> None:
    store = store_in(tmp_path, keep=2)
    for step in (10, 20, 30, 40, 50):
        save(store, step, float(step), best=["a"] if step == 20 else [])
    assert store.steps("a") == [20, 40, 50]
    assert store.steps("b") == [40, 50]
    save(store, 60, 6.0, ("a",))
    assert store.steps("a") == [20, 50, 60]
    assert store.steps("b") == [40, 50]


def test_one_checkpoint_can_be_kept(tmp_path: Path) -> None:
    store = store_in(tmp_path, keep=1)
    for step in (10, 20):
        save(store, step, float(step))
    assert store.steps("a") == [20]
    assert values(store_in(tmp_path)) == {"a": 20.0, "b": 20.0}


def test_saving_a_step_again_replaces_it(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    save(store, 10, 1.0, best=["a"])
    save(store, 10, 2.0)
    assert values(store_in(tmp_path)) == {"a": 2.0, "b": 2.0}
    assert store.steps("a") == [10]
    assert store.load("a", "best").state["value"] == 2.0
    assert not list((tmp_path / "checkpoints" / "a").glob(".*"))


def test_a_behavior_that_did_not_show_up_again_stays_in_the_save(tmp_path: Path) -> None:
    save(store_in(tmp_path), 10, 1.0)
    store = store_in(tmp_path)
    store.load_last()
    for step in (20, 30, 40, 50, 60, 70):
        save(store, step, float(step), ("a",))
    last = store_in(tmp_path).load_last()
    assert {name: checkpoint.step for name, checkpoint in last.items()} == {"a": 70, "b": 10}


def test_checkpoints_beyond_the_one_continued_from_are_removed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = store_in(tmp_path)
    save(store, 10, 1.0)
    save(store, 20, 2.0)
    (tmp_path / "checkpoints" / "a" / "20" / "state.json").write_bytes(b"{")
    store = store_in(tmp_path)
    assert values(store) == {"a": 1.0, "b": 1.0}
    save(store, 15, 1.5)
    assert store.steps("a") == store.steps("b") == [10, 15]
    assert values(store_in(tmp_path)) == {"a": 1.5, "b": 1.5}
    assert "20/state.json: is damaged" in caplog.text


def test_a_behavior_is_not_carried_over_from_a_moment_that_was_given_up(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    save(store, 10, 1.0)
    save(store, 20, 2.0)
    (tmp_path / "checkpoints" / "a" / "20" / "state.json").unlink()
    store = store_in(tmp_path)
    store.load_last()
    save(store, 15, 1.5, ("a",))
    last = store_in(tmp_path).load_last()
    assert {name: checkpoint.step for name, checkpoint in last.items()} == {"a": 15, "b": 10}
    assert store.named_step("b", "last") == 10


def test_a_changed_number_in_the_state_is_noticed(tmp_path: Path) -> None:
    save(store_in(tmp_path), 10, 1.0, ("a",))
    path = tmp_path / "checkpoints" / "a" / "10" / "state.json"
    path.write_text(path.read_text().replace("0.0003", "0.0004"))
    with pytest.raises(DamagedFileError, match=r"state\.json: is damaged: its content does not fit its checksum"):
        store_in(tmp_path).load("a", 10)


def test_a_folder_of_another_save_is_noticed(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    save(store, 10, 1.0)
    save(store, 20, 2.0)
    folder = tmp_path / "checkpoints" / "b"
    shutil.rmtree(folder / "20")
    shutil.copytree(folder / "10", folder / "20")
    assert values(store_in(tmp_path)) == {"a": 1.0, "b": 1.0}


@pytest.mark.parametrize("name", ["policy.safetensors", "trainer.safetensors", "state.json"])
@pytest.mark.parametrize("damage", ["missing", "cut", "flipped", "of another save", "empty"])
def test_damage_is_told_and_training_goes_back_to_the_last_whole_moment_of_all_behaviors(
    tmp_path: Path, name: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = store_in(tmp_path)
    save(store, 10, 1.0)
    save(store, 20, 2.0)
    path = tmp_path / "checkpoints" / "b" / "20" / name
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "of another save":
        shutil.copy(path.parent.parent / "10" / name, path)
    else:
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        path.write_bytes({"cut": content[:-1], "flipped": flipped, "empty": b""}[damage])
    with caplog.at_level(logging.WARNING):
        assert values(store_in(tmp_path)) == {"a": 1.0, "b": 1.0}
    assert "going back to the newest checkpoint that is whole: a at step 10, b at step 10" in caplog.text
    if damage != "of another save" or name != "state.json":
        with pytest.raises(DamagedFileError, match=rf"20/{name}: is (damaged|missing).*there are: last, 10, 20"):
            store_in(tmp_path).load("b", "last")
    assert store_in(tmp_path).load("a", "last").step == 20


def test_without_any_whole_checkpoint_all_that_is_wrong_is_told(tmp_path: Path) -> None:
    save(store_in(tmp_path), 10, 1.0)
    (tmp_path / "checkpoints" / "a" / "10" / "policy.safetensors").write_bytes(b"")
    with pytest.raises(UserError, match=r"(?s)no checkpoint of this run can be read:\n.*a/10/policy\.safetensors"):
        store_in(tmp_path).load_last()


@pytest.mark.parametrize("content", [None, b"", b"{}", b"[]", b'{"number": 1, "members": {"a": 3}, "best": []}'])
def test_the_newest_save_is_found_without_its_list(
    tmp_path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    store = store_in(tmp_path)
    save(store, 10, 1.0)
    save(store, 20, 2.0)
    path = tmp_path / "checkpoints" / "saves.json"
    path.unlink() if content is None else path.write_bytes(content)
    store = store_in(tmp_path)
    assert values(store) == {"a": 2.0, "b": 2.0}
    assert "saves.json: is" in caplog.text
    save(store, 30, 3.0)
    assert values(store_in(tmp_path)) == {"a": 3.0, "b": 3.0}


def test_files_of_a_newer_version_are_refused_with_what_wrote_them(tmp_path: Path) -> None:
    save(store_in(tmp_path), 10, 1.0)
    path = tmp_path / "checkpoints" / "a" / "10" / "state.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 2}))
    with pytest.raises(UserError, match=r"has format 2, this version reads up to 1.*'agents-core': '0\.1\.0'"):
        store_in(tmp_path).load_last()


@pytest.mark.parametrize("part", ["policy", "trainer", "state"])
def test_what_cannot_be_saved_leaves_everything_as_it_was(tmp_path: Path, part: str) -> None:
    store = store_in(tmp_path)
    save(store, 10, 1.0)
    before = files_under(tmp_path)
    parts: dict[str, Any] = {"policy": {}, "trainer": {}, "state": {}, part: {"betas": (0.9, 0.999)}}
    with pytest.raises(UnsavableStateError, match=r"\['betas'\] is a builtins\.tuple"):
        store.save({"a": Snapshot(20, **parts)}, {})
    with pytest.raises(UnsavableStateError, match="weights is an array"):
        store.save({"a": Snapshot(20, {}, {}, {"weights": np.zeros(2)})}, {})
    assert files_under(tmp_path) == before


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=16))
def test_folder_names_are_safe_everywhere_and_can_be_turned_back(behavior: str) -> None:
    name = folder_name(behavior)
    assert behavior_name(name) == behavior
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-~%")


def test_odd_behavior_names_can_be_saved(tmp_path: Path) -> None:
    names = ("Walker?team=1", "a/b", "..", "CON", "lpt1", "saves.json", "Läufer 2", "100")
    store = store_in(tmp_path)
    save(store, 10, 1.0, names)
    assert store.behaviors() == sorted(names)
    assert set(values(store_in(tmp_path))) == set(names)
    assert folder_name("CON") == "%43ON"
    assert folder_name("Walker?team=1") == "Walker%3Fteam%3D1"
    for impossible in ("", "x" * 201):
        with pytest.raises(UserError, match="needs a name of 1 to 200 bytes"):
            folder_name(impossible)


class _Killed(BaseException):
    """The process ends here."""


def failing_at(monkeypatch: pytest.MonkeyPatch, chosen: int, error: BaseException, *, stays: bool) -> Callable[[], int]:
    """Let the chosen file operation fail, and all later ones if `stays`; returns how many were seen."""
    seen = 0

    def fails() -> bool:
        nonlocal seen
        seen += 1
        return seen == chosen or (stays and seen > chosen)

    def guard(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def guarded(*args: Any, **kwargs: Any) -> Any:
            if fails():
                raise error
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, guarded)

    def half_written(path: Path, data: bytes) -> None:
        if fails():
            path.write_bytes(data[: len(data) // 2])
            raise error
        write_file(path, data)

    write_file = durable.write_file
    monkeypatch.setattr(durable, "write_file", half_written)
    monkeypatch.setattr(behavior_checkpoints, "write_file", half_written)
    for owner, name in ((os, "replace"), (os, "fsync"), (pathlib.Path, "mkdir"), (shutil, "rmtree")):
        guard(owner, name)
    return lambda: seen


def operations(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """Numbers of file operations, each with a folder of its own."""
    for chosen in range(1, 200):
        yield chosen, tmp_path / str(chosen)


def prepared(directory: Path) -> CheckpointStore:
    """A store whose next save at step 20 has everything to do: a new step for a, the same one for b, pruning."""
    store = store_in(directory, keep=2)
    save(store, 5, 0.5)
    save(store, 10, 1.0)
    return store


def save_next(store: CheckpointStore) -> None:
    store.save({"a": snapshot(20, 2.0), "b": snapshot(10, 2.0)}, {"value": 2.0}, best=["b"])


def test_a_kill_at_any_file_operation_leaves_all_behaviors_at_one_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for chosen, directory in operations(tmp_path):
        store = prepared(directory)
        with monkeypatch.context() as patch:
            seen = failing_at(patch, chosen, _Killed(), stays=True)
            with contextlib.suppress(_Killed):
                save_next(store)
            total = seen()
        reader = store_in(directory)
        assert reader.load("a", "last").step in (10, 20)
        assert reader.load("b", "last").state["value"] in (1.0, 2.0)
        again = store_in(directory, keep=2)
        found.append(values(again))
        assert found[-1] in ({"a": 1.0, "b": 1.0}, {"a": 2.0, "b": 2.0})
        assert {again.named_step(name, "last") for name in "ab"} == ({10} if found[-1]["a"] == 1.0 else {10, 20})
        assert again.named_step("b", "best") == (None if found[-1]["a"] == 1.0 else 10)
        save(again, 30, 3.0)
        assert values(store_in(directory)) == {"a": 3.0, "b": 3.0}
        assert not [path for path in (directory / "checkpoints").rglob(".*") if path.is_dir()]
        if total < chosen:
            break
    assert len(found) > 20
    changes = [first != second for first, second in itertools.pairwise(found)]
    assert sum(changes) == 1


def test_a_full_disk_at_any_file_operation_is_told_and_leaves_the_earlier_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = []
    for chosen, directory in operations(tmp_path):
        store = prepared(directory)
        with monkeypatch.context() as patch:
            seen = failing_at(patch, chosen, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), stays=False)
            try:
                save_next(store)
            except CheckpointSaveError as error:
                messages.append(str(error))
            total = seen()
        committed = b'"number": 3' in (directory / "checkpoints" / "saves.json").read_bytes()
        if not committed:
            assert not list((directory / "checkpoints").rglob(".*"))
        assert values(store_in(directory)) == ({"a": 2.0, "b": 2.0} if committed else {"a": 1.0, "b": 1.0})
        save(store, 30, 3.0)
        assert json.loads((directory / "checkpoints" / "saves.json").read_bytes())["number"] == (4 if committed else 3)
        assert not list((directory / "checkpoints").rglob(".*"))
        assert values(store_in(directory)) == {"a": 3.0, "b": 3.0}
        if total < chosen:
            break
    assert len(messages) > 15
    assert all("No space left on device; the previous one is intact" in message for message in messages)
    assert all(f"agents resume {tmp_path}" in message for message in messages)
    assert issubclass(CheckpointSaveError, AgentsError)


def test_ctrl_c_during_a_save_leaves_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for chosen, directory in operations(tmp_path):
        store = prepared(directory)
        with monkeypatch.context() as patch:
            seen = failing_at(patch, chosen, KeyboardInterrupt(), stays=False)
            with contextlib.suppress(KeyboardInterrupt):
                save_next(store)
            total = seen()
        assert values(store_in(directory)) in ({"a": 1.0, "b": 1.0}, {"a": 2.0, "b": 2.0})
        save(store, 30, 3.0)
        assert values(store_in(directory)) == {"a": 3.0, "b": 3.0}
        if total < chosen:
            break


@pytest.mark.skipif(os.name == "nt", reason="needs resource limits")
def test_a_disk_that_takes_no_more_bytes_is_told(tmp_path: Path) -> None:
    save(store_in(tmp_path), 10, 1.0, ("a",))
    before = files_under(tmp_path)
    code = (
        "import resource, sys, numpy as np\n"
        "from pathlib import Path\n"
        "from agents_core.training.checkpoint import CheckpointStore, CheckpointSaveError\n"
        "from agents_core.training.checkpoint_files import Snapshot\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "store = CheckpointStore(Path(sys.argv[1]) / 'checkpoints')\n"
        "try:\n"
        "    store.save({'a': Snapshot(20, {'w': np.zeros(100_000)}, {}, {})}, {})\n"
        "except CheckpointSaveError as error:\n"
        "    sys.exit(str(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the checkpoint could not be saved: File too large" in done.stderr
    assert files_under(tmp_path) == before
    assert values(store_in(tmp_path)) == {"a": 1.0}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, for many quick kills")
def test_kill_9_at_random_moments_never_loses_a_finished_save(tmp_path: Path) -> None:
    script = Path(__file__).parent / "kill_while_saving.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "25"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    kills, saves = map(int, done.stdout.split())
    assert kills == 25
    assert saves >= 25


def test_a_reader_finds_whole_checkpoints_while_the_run_saves_and_prunes(tmp_path: Path) -> None:
    writer, reader = store_in(tmp_path, keep=1), store_in(tmp_path)
    save(writer, 0, 0.0, ("a",))
    original = behavior_checkpoints.read_checkpoint
    for step in (10, 20, 20):  # At the same step the folder is replaced while it is read.
        saved = False

        def read_late(folder: Path, step: int = step) -> Any:
            nonlocal saved
            if not saved:
                saved = True
                save(writer, step, step + 0.5, ("a",))
            return original(folder)

        checkpoint = behavior_checkpoints.BehaviorCheckpoints(tmp_path / "checkpoints", "a").load("last", read_late)
        assert checkpoint.state["value"] == step + 0.5
    assert reader.load("a", "last").state["value"] == 20.5
