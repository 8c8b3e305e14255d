"""Run directories: made whole or not at all, owned by one process, found by name, never overwritten by mistake."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents_core.errors import UserError
from agents_core.training import durable, run_directory
from agents_core.training.checkpoint import CheckpointStore
from agents_core.training.checkpoint_files import Snapshot
from agents_core.training.provenance import git_state
from agents_core.training.run_directory import RunDirectory
from agents_core.training.run_ids import check_run_id, default_run_id, find_run
from agents_core.training.run_lock import RunLock, RunLockedError
from agents_core.training.run_log import RunLog
from agents_core.training.run_record import RunFileError
from agents_core.training.state_files import DamagedFileError
from hypothesis import given
from hypothesis import strategies as st

FACTS: dict[str, Any] = {
    "command": ["agents", "run", "--plugin", "ppo"],
    "versions": {"agents-core": "0.1.0"},
    "plugins": {"agents-ppo": "0.2.0"},
}


def create(results: Path, run_id: str | None = "one", **options: Any) -> RunDirectory:
    return RunDirectory.create(results, run_id, words=["ppo", "CartPole-v1"], seed=7, **FACTS, **options)


def finished(results: Path, run_id: str = "one") -> Path:
    run = create(results, run_id)
    run.finish("finished")
    run.close()
    return run.path


@pytest.fixture
def training_elsewhere(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock of run `one`."""
    finished(tmp_path)
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from agents_core.training.run_lock import RunLock\n"
        "lock = RunLock(Path(sys.argv[1]))\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "one")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()
    assert process.stdin is not None
    process.stdin.close()


def test_a_new_run_is_recorded_with_everything_that_made_it(tmp_path: Path) -> None:
    with create(tmp_path / "results") as run:
        record = json.loads((tmp_path / "results" / "one" / "run.json").read_text())
        assert run.record() == record
        assert record["run_id"] == "one"
        assert record["seed"] == 7
        assert record["status"] == "running"
        assert record["command"] == FACTS["command"]
        assert record["versions"] == {"python": ".".join(map(str, sys.version_info[:3])), "agents-core": "0.1.0"}
        assert record["plugins"] == FACTS["plugins"]
        assert record["pid"] == os.getpid()
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", record["started"])
        assert record["ended"] is None
        run.finish("finished")
        assert run.record()["status"] == "finished"
        assert run.record()["ended"] >= record["started"]


def test_the_files_have_their_documented_names(tmp_path: Path) -> None:
    with create(tmp_path) as run:
        run.write_config("seed: 1\n")
        run.write_summary({"status": "finished", "mean_return": None})
        run.start_log()
        paths = [run.config_path, run.summary_path, run.log_path, run.timers_path, run.checkpoints_path]
    assert [path.name for path in paths] == ["config.yaml", "summary.json", "run.log", "timers.json", "checkpoints"]
    assert {path.parent for path in paths} == {tmp_path / "one"}
    assert (tmp_path / "one" / "config.yaml").read_text() == "seed: 1\n"
    assert json.loads((tmp_path / "one" / "summary.json").read_text()) == {"status": "finished", "mean_return": None}
    assert sorted(path.name for path in run.path.iterdir()) == [
        ".lock",
        "config.yaml",
        "run.json",
        "run.log",
        "summary.json",
    ]


def test_numbers_that_are_not_finite_are_not_written(tmp_path: Path) -> None:
    with create(tmp_path) as run:
        with pytest.raises(ValueError):
            run.write_summary({"mean_return": float("nan")})
        assert not run.summary_path.exists()


def test_an_existing_run_is_refused_with_the_ways_out(tmp_path: Path) -> None:
    path = finished(tmp_path)
    before = (path / "run.json").read_bytes()
    with pytest.raises(UserError, match=r"run 'one' exists in [^;]*; replace it with --force, or .*--run-id"):
        create(tmp_path)
    CheckpointStore(path / "checkpoints").save({"Walker": Snapshot(5, {}, {}, {})}, {})
    with pytest.raises(UserError, match=r"run 'one' exists in .*--resume.*--force.*--run-id"):
        create(tmp_path)
    assert (path / "run.json").read_bytes() == before


def test_force_replaces_a_run_with_all_its_files(tmp_path: Path) -> None:
    path = finished(tmp_path)
    (path / "checkpoints" / "a").mkdir(parents=True)
    (path / "metrics.jsonl").write_text("{}\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("")
    (path / "link").symlink_to(outside, target_is_directory=True)
    started = json.loads((path / "run.json").read_text())
    with create(tmp_path, force=True) as run:
        assert sorted(path.name for path in run.path.iterdir()) == [".lock", "run.json"]
        assert run.record()["status"] == "running"
        assert run.record()["earlier"] == []
        assert started["status"] == "finished"
    assert (outside / "kept").exists()


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("content", ["thesis.txt", "run.json"])
def test_a_folder_that_is_no_run_is_never_touched(tmp_path: Path, content: str, force: bool) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / content).write_text('{"name": "somebody else\'s"}')
    with pytest.raises(UserError):
        create(tmp_path, force=force)
    assert [path.name for path in folder.iterdir()] == [content]
    assert (folder / content).read_text() == '{"name": "somebody else\'s"}'


def test_a_file_of_that_name_is_never_touched(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("thesis")
    with pytest.raises(UserError, match="is no run"):
        create(tmp_path, force=True)
    assert (tmp_path / "one").read_text() == "thesis"


def test_what_a_process_killed_while_creating_left_does_not_block_the_name(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / ".lock").write_text("12345 host\n")
    (tmp_path / "one" / ".run.json.new").write_text("{")
    with create(tmp_path) as run:
        assert sorted(path.name for path in run.path.iterdir()) == [".lock", "run.json"]


@pytest.mark.parametrize("had_results", [False, True])
def test_a_creation_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, had_results: bool
) -> None:
    results = tmp_path / "results"
    if had_results:
        results.mkdir()

    def full(path: Path, data: bytes) -> None:
        path.write_bytes(data[:3])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(durable, "write_file", full)
        for run_id in ("one", None):
            with pytest.raises(RunFileError, match="No space left on device"):
                create(results, run_id)
    assert [path.name for path in tmp_path.iterdir()] == (["results"] if had_results else [])
    assert not had_results or not list(results.iterdir())
    create(results).close()


@pytest.mark.parametrize("run_id", ["one", None])
def test_a_folder_that_cannot_be_locked_is_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_id: str | None
) -> None:
    def refuse(directory: Path) -> RunLock:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(directory))

    monkeypatch.setattr(run_directory, "RunLock", refuse)
    with pytest.raises(UserError, match="cannot be made: Read-only file system"):
        create(tmp_path / "results", run_id)
    assert not list(tmp_path.iterdir())


def test_a_run_that_cannot_be_written_to_is_not_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(directory: Path) -> RunLock:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(directory))

    run = RunDirectory.open(finished(tmp_path), tmp_path)
    monkeypatch.setattr(run_directory, "RunLock", refuse)
    with pytest.raises(UserError, match="one: this run cannot be continued: Read-only file system"):
        run.resume(**FACTS)


def test_a_replacement_that_fails_leaves_a_run_that_can_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = finished(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(durable, "write_file", full)
        with pytest.raises(RunFileError):
            create(tmp_path, force=True)
    assert (path / "run.json").is_file()
    create(tmp_path, force=True).close()


def test_a_process_that_was_quicker_keeps_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lock_late(directory: Path) -> RunLock:
        monkeypatch.undo()
        finished(tmp_path)
        return RunLock(directory)

    monkeypatch.setattr(run_directory, "RunLock", lock_late)
    with pytest.raises(UserError, match="run 'one' exists"):
        create(tmp_path)
    assert RunDirectory.open("one", tmp_path).record()["status"] == "finished"


def test_results_that_cannot_be_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    for run_id in ("one", None):
        with pytest.raises(UserError, match="the run directory cannot be made"):
            create(tmp_path / "results", run_id)
    assert (tmp_path / "results").is_file()


def test_a_run_that_could_not_start_can_be_discarded(tmp_path: Path) -> None:
    run = create(tmp_path)
    run.start_log()
    run.write_config("seed: 1\n")
    run.discard()
    assert not list(tmp_path.iterdir())
    RunDirectory(finished(tmp_path)).discard()
    assert (tmp_path / "one" / "run.json").is_file()


def test_default_names_tell_trainer_environment_and_time_and_never_meet(tmp_path: Path) -> None:
    runs = [create(tmp_path, None) for _ in range(4)]
    names = {run.path.name for run in runs}
    assert len(names) == 4
    assert all(re.fullmatch(r"ppo-CartPole-v1-\d{8}-\d{6}(-\d)?", name) for name in names)
    assert {run.record()["run_id"] for run in runs} == names
    for run in runs:
        run.close()


@given(st.lists(st.text(max_size=200), max_size=3))
def test_default_names_are_allowed_names(words: list[str]) -> None:
    name = default_run_id(*words)
    assert check_run_id(name) == name


def test_default_names_keep_what_can_be_kept() -> None:
    assert default_run_id("sac", "ALE/Pong-v5").startswith("sac-ALE-Pong-v5-2")
    assert default_run_id("sac", "my_module:Id-v0").startswith("sac-my_module-Id-v0-2")
    assert default_run_id("../..").startswith("run-2")


@pytest.mark.parametrize("run_id", ["a", "ppo-1", "Läufer 2", "v1.2", "x" * 150, "console", "com10"])
def test_ordinary_names_are_allowed(run_id: str) -> None:
    assert check_run_id(run_id) == run_id


@pytest.mark.parametrize(
    ("run_id", "found"),
    [
        ("", "is empty"),
        ("x" * 151, "is too long"),
        ("a/b", "contains '/'"),
        ("a\\b", "contains"),
        ("..", "starts with"),
        (".hidden", "starts with"),
        ("-force", "starts with"),
        ("a.", "ends with"),
        ("a ", "ends with"),
        ("a:b", "contains ':'"),
        ("what?", "contains"),
        ("line\nbreak", "contains"),
        ("nul", "reserved"),
        ("COM1.txt", "reserved"),
    ],
)
def test_names_that_some_system_refuses_are_refused(tmp_path: Path, run_id: str, found: str) -> None:
    with pytest.raises(UserError, match=rf"(?s)--run-id .*{re.escape(found)}.*letters, digits"):
        create(tmp_path / "results", run_id)
    assert not list(tmp_path.iterdir())


def test_a_second_process_is_refused_with_the_first_ones_id(
    tmp_path: Path, training_elsewhere: subprocess.Popen[str]
) -> None:
    run = RunDirectory.open("one", tmp_path)
    before = run.record()
    for attempt in (lambda: run.resume(**FACTS), lambda: create(tmp_path, force=True)):
        with pytest.raises(RunLockedError, match=rf"process {training_elsewhere.pid} on .* is training in it"):
            attempt()
    assert run.record() == before


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path, training_elsewhere: subprocess.Popen[str]) -> None:
    training_elsewhere.send_signal(signal.SIGKILL if os.name != "nt" else signal.SIGTERM)
    training_elsewhere.wait()
    run = RunDirectory.open("one", tmp_path)
    run.resume(**FACTS)
    assert (run.path / ".lock").read_text().startswith(f"{os.getpid()} ")
    run.close()
    run.close()
    assert (run.path / ".lock").read_text() == ""


def test_a_worker_that_outlives_its_run_does_not_keep_the_lock(tmp_path: Path) -> None:
    path = finished(tmp_path)
    lock = RunLock(path)
    worker = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    lock.release()
    RunLock(path).release()
    worker.communicate(b"")


def test_one_process_cannot_train_twice_in_a_run(tmp_path: Path) -> None:
    run = create(tmp_path)
    with pytest.raises(RunLockedError, match=rf"process {os.getpid()} "):
        RunDirectory.open("one", tmp_path).resume(**FACTS)
    run.close()
    again = RunDirectory.open("one", tmp_path)
    again.resume(**FACTS)
    again.close()


def test_only_one_of_many_processes_gets_a_name(tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from agents_core.errors import UserError\n"
        "from agents_core.training.run_directory import RunDirectory\n"
        "facts = {'words': [], 'seed': 1, 'command': [], 'versions': {}, 'plugins': {}}\n"
        "while time.time() < float(sys.argv[2]): pass\n"
        "try:\n"
        "    run = RunDirectory.create(Path(sys.argv[1]), 'one', **facts)\n"
        "    run.finish('finished')\n"
        "    run.close()\n"
        "    print('made')\n"
        "except UserError as error:\n"
        "    print('refused')\n"
    )
    start = time.time() + 1.5
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(start)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert sorted(process.communicate()[0] for process in processes) == ["made\n", *["refused\n"] * 3]
    assert RunDirectory.open("one", tmp_path).record()["status"] == "finished"


def test_continuing_keeps_the_earlier_processes_and_tells_changed_versions(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = create(tmp_path)
    run.finish("interrupted")
    run.close()
    killed = RunDirectory.open("one", tmp_path)
    killed.resume(**{**FACTS, "plugins": {"agents-ppo": "0.3.0"}})
    killed.close()
    assert caplog.messages == ["agents-ppo: 0.2.0 when the run was last trained, 0.3.0 now"]
    again = RunDirectory.open("one", tmp_path)
    again.resume(command=["agents", "resume", "one"], versions=FACTS["versions"], plugins={})
    record = again.record()
    again.close()
    assert caplog.messages[1:] == ["agents-ppo: 0.3.0 when the run was last trained, not installed now"]
    assert (record["run_id"], record["seed"], record["status"]) == ("one", 7, "running")
    assert record["command"] == ["agents", "resume", "one"]
    assert [process["status"] for process in record["earlier"]] == ["interrupted", "failed"]
    assert [process["plugins"] for process in record["earlier"]] == [{"agents-ppo": "0.2.0"}, {"agents-ppo": "0.3.0"}]


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt(), "interrupted"), (RuntimeError("boom"), "failed")])
def test_an_exception_is_recorded_with_its_traceback(tmp_path: Path, error: BaseException, status: str) -> None:
    def train() -> None:
        with create(tmp_path) as run:
            run.start_log()
            raise error

    with pytest.raises(type(error)):
        train()
    run = RunDirectory.open("one", tmp_path)
    record = run.record()
    assert record["status"] == status
    assert record["ended"] is not None
    log = run.log_path.read_text()
    assert "ERROR agents_core.training.run_log: the run ended: " + repr(error) in log
    assert "Traceback (most recent call last)" in log
    assert "raise error" in log


def test_a_full_disk_at_the_end_does_not_hide_what_went_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def train(run: RunDirectory) -> None:
        with run:
            monkeypatch.setattr(durable, "write_file", full)
            raise RuntimeError("boom")

    run = create(tmp_path)
    with pytest.raises(RuntimeError, match="boom"):
        train(run)
    assert "run.json: cannot be written: No space left on device" in caplog.text
    with pytest.raises(RunFileError, match=r"run\.json: cannot be written: No space left on device"):
        run.finish("finished")
    assert RunDirectory.open("one", tmp_path).record()["status"] == "running"


def test_the_log_takes_what_is_logged_while_the_run_is_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    core, plugin = logging.getLogger("agents_core.training.loop"), logging.getLogger("agents_ppo")
    monkeypatch.setattr(logging.getLogger("agents_core"), "level", logging.ERROR)
    handlers = list(logging.getLogger().handlers)
    core.info("too early")
    with create(tmp_path) as run:
        run.start_log()
        core.info("Lernrate für %s", "walker")
        plugin.warning("from a plugin")
        try:
            raise ValueError("inner")
        except ValueError:
            core.exception("caught")
    core.error("too late")
    log = run.log_path.read_text(encoding="utf-8")
    assert re.search(r"^\d{4}-\d\d-\d\d .* INFO agents_core\.training\.loop: Lernrate für walker$", log, re.MULTILINE)
    assert "WARNING agents_ppo: from a plugin" in log
    assert "Traceback" in log
    assert "ValueError: inner" in log
    assert "too" not in log
    assert logging.getLogger("agents_core").level == logging.ERROR
    assert logging.getLogger().handlers == handlers


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_log_that_takes_nothing_more_costs_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    log = RunLog(Path("/dev/full"))
    logging.getLogger("agents_ppo").warning("what the disk has no room for")
    log.close()
    assert "Traceback" not in capsys.readouterr().err


def test_a_continued_run_appends_to_its_log(tmp_path: Path) -> None:
    for message in ("first", "second"):
        run = create(tmp_path) if message == "first" else RunDirectory.open("one", tmp_path)
        if message == "second":
            run.resume(**FACTS)
        run.start_log()
        logging.getLogger("agents_core").info(message)
        run.close()
    assert [line.rsplit(" ", 1)[1] for line in run.log_path.read_text().splitlines()] == ["first", "second"]


def test_a_run_is_found_by_path_and_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = finished(tmp_path / "results", "walker-1")
    monkeypatch.chdir(tmp_path)
    assert find_run("walker-1", Path("results")) == Path("results/walker-1")
    assert find_run("results/walker-1", Path("elsewhere")) == Path("results/walker-1")
    assert find_run(path, Path("elsewhere")) == path
    (tmp_path / "walker-1").mkdir()  # A folder that is no run does not hide the run of that name.
    assert find_run("walker-1", Path("results")) == Path("results/walker-1")


def test_a_run_that_is_not_there_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"no run 'walker'.*There are no runs in {re.escape(str(tmp_path))}"):
        find_run("walker", tmp_path)
    finished(tmp_path, "walker-1")
    finished(tmp_path, "hopper-1")
    with pytest.raises(UserError, match=r"no run 'walker-2'.*did you mean 'walker-1'\? Runs in .*: hopper-1, walker-1"):
        find_run("walker-2", tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"empty: is no run directory: it has no run\.json"):
        find_run("empty", tmp_path)
    with pytest.raises(UserError, match="no run 'xxx"):
        find_run("x" * 5000, tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}"])
def test_a_damaged_record_is_refused_with_the_file(tmp_path: Path, content: str) -> None:
    path = finished(tmp_path)
    (path / "run.json").write_text(content)
    with pytest.raises(DamagedFileError, match=r"one/run\.json: is damaged"):
        RunDirectory.open("one", tmp_path).record()
    with pytest.raises(DamagedFileError):
        RunDirectory.open("one", tmp_path).resume(**FACTS)
    RunLock(path).release()


def test_the_state_of_the_source_tree_is_told(tmp_path: Path) -> None:
    assert git_state(tmp_path) is None

    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=n", "-c", "user.email=e"]
        done = subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-b", "trunk")
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-m", "first")
    assert git_state(tmp_path) == {"commit": git("rev-parse", "HEAD"), "branch": "trunk", "changed": False}
    (tmp_path / "new").write_text("")
    assert git_state(tmp_path)["changed"] is False  # type: ignore[index]
    (tmp_path / "file").write_text("2")
    assert git_state(tmp_path)["changed"] is True  # type: ignore[index]


def test_a_machine_without_git_is_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state(tmp_path) is None
