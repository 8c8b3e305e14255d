"""The TensorBoard writer, seen through TensorBoard's own readers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from agents_core.contracts.stats import StatsWriterContext
from agents_core.training.checkpoint_files import folder_name
from agents_stats_tensorboard.config import TensorBoardConfig
from agents_stats_tensorboard.writer import TensorBoardWriter
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

Curve = list[tuple[int, float]]


def open_writer(run: Path, resumed_at: Mapping[str, int] | None = None) -> TensorBoardWriter:
    return TensorBoardWriter(StatsWriterContext(TensorBoardConfig(), run, {"*": 1000}, resumed_at or {}, quiet=True))


def write_steps(writer: TensorBoardWriter, behavior: str, steps: range, factor: float = 1.0) -> None:
    for step in steps:
        writer.write(behavior, step, step / 10, {"rollout/mean_return": factor * step})


def curve(run: Path, behavior: str, tag: str = "rollout/mean_return") -> Curve:
    """A curve as TensorBoard shows it."""
    accumulator = EventAccumulator(str(run / "tensorboard" / folder_name(behavior))).Reload()
    if tag not in accumulator.Tags()["scalars"]:
        return []
    return [(event.step, event.value) for event in accumulator.Scalars(tag)]


def raw_curve(run: Path, behavior: str, tag: str = "rollout/mean_return") -> Curve:
    """Every number in a behavior's files, as a reader that knows nothing of restarts finds them."""
    found = []
    for path in sorted((run / "tensorboard" / folder_name(behavior)).iterdir()):
        for event in LegacyEventFileLoader(str(path)).Load():
            found += [(event.step, value.simple_value) for value in event.summary.value if value.tag == tag]
    return found


def texts(run: Path, tag: str) -> list[tuple[int, str]]:
    accumulator = EventAccumulator(str(run / "tensorboard")).Reload()
    return [(event.step, event.tensor_proto.string_val[0].decode()) for event in accumulator.Tensors(tag)]


def test_tags_are_the_metric_names_and_the_axis_is_the_step(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    writer.write("Walker", 5000, 1.0, {"rollout/mean_return": 2.5, "train/policy_loss": -0.125})
    writer.write("Walker", 10000, 2.0, {"rollout/mean_return": 3.5})
    writer.close()
    assert curve(tmp_path, "Walker") == [(5000, 2.5), (10000, 3.5)]
    assert curve(tmp_path, "Walker", "train/policy_loss") == [(5000, -0.125)]


def test_what_is_written_can_be_read_at_once(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    write_steps(writer, "Walker", range(10, 20, 10))
    assert curve(tmp_path, "Walker") == [(10, 10.0)]
    writer.close()


def test_each_behavior_has_a_folder_of_its_own(tmp_path: Path) -> None:
    names = ["Walker", "Striker?team=0", "Striker?team=1", "Läufer 行", "a/b", "..", "dot."]
    writer = open_writer(tmp_path)
    for number, name in enumerate(names):
        writer.write(name, 1, 1.0, {"größe/行": number})
    writer.close()
    for number, name in enumerate(names):
        assert curve(tmp_path, name, "größe/行") == [(1, number)]
    folders = {path.name for path in (tmp_path / "tensorboard").iterdir()}
    assert folders == {folder_name(name) for name in names}, "as under checkpoints/"


def test_texts_are_shown_verbatim(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    writer.text("hyperparameters", "behaviors:\n  'Läufer':\n    max_steps: 10  # *all* of it\n")
    writer.close()
    block = "    behaviors:\n      'Läufer':\n        max_steps: 10  # *all* of it"
    assert texts(tmp_path, "hyperparameters") == [(0, block)]


def test_closing_twice_is_allowed(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    writer.write("a", 1, 1.0, {"x": 1.0})
    writer.text("t", "text")
    writer.close()
    writer.close()


def test_a_run_without_anything_to_write_leaves_no_folder(tmp_path: Path) -> None:
    open_writer(tmp_path).close()
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_curve_goes_on_without_overlap_for_any_reader(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    write_steps(writer, "a", range(100, 600, 100))
    write_steps(writer, "b", range(100, 600, 100))
    writer.close()
    writer = open_writer(tmp_path, {"a": 300, "b": 450})
    write_steps(writer, "a", range(400, 700, 100), factor=-1)
    write_steps(writer, "b", range(500, 700, 100), factor=-1)
    writer.close()
    expected_a = [(100, 100.0), (200, 200.0), (300, 300.0), (400, -400.0), (500, -500.0), (600, -600.0)]
    expected_b = [(100, 100.0), (200, 200.0), (300, 300.0), (400, 400.0), (500, -500.0), (600, -600.0)]
    assert raw_curve(tmp_path, "a") == curve(tmp_path, "a") == expected_a
    assert raw_curve(tmp_path, "b") == curve(tmp_path, "b") == expected_b


def test_files_hold_nothing_beyond_the_step_before_the_first_new_number(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    write_steps(writer, "a", range(100, 600, 100))
    writer.close()
    writer = open_writer(tmp_path, {"a": 300})
    assert raw_curve(tmp_path, "a")[-1] == (300, 300.0)
    writer.close()


def test_a_second_resume_cuts_the_files_of_both_processes(tmp_path: Path) -> None:
    for resumed_at, steps in (({}, range(1, 6)), ({"a": 3}, range(4, 9)), ({"a": 5}, range(6, 8))):
        writer = open_writer(tmp_path, resumed_at)
        write_steps(writer, "a", steps)
        writer.close()
    assert [step for step, _ in raw_curve(tmp_path, "a")] == [1, 2, 3, 4, 5, 6, 7]
    writer = open_writer(tmp_path, {"a": 2})
    writer.close()
    assert [step for step, _ in raw_curve(tmp_path, "a")] == [1, 2]
    assert len(list((tmp_path / "tensorboard" / "a").iterdir())) == 1, "files without a number go"


def test_a_running_tensorboard_forgets_what_was_cut(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    write_steps(writer, "a", range(1, 6))
    writer.close()
    accumulator = EventAccumulator(str(tmp_path / "tensorboard" / "a")).Reload()
    writer = open_writer(tmp_path, {"a": 3})
    write_steps(writer, "a", range(4, 6), factor=-1)
    writer.close()
    accumulator.Reload()
    shown = [(event.step, event.value) for event in accumulator.Scalars("rollout/mean_return")]
    assert shown == [(1, 1.0), (2, 2.0), (3, 3.0), (4, -4.0), (5, -5.0)]


def test_a_new_run_and_a_behavior_without_a_checkpoint_start_with_empty_curves(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    write_steps(writer, "a", range(1, 4))
    write_steps(writer, "late", range(1, 4))
    writer.text("hyperparameters", "old")
    writer.close()
    open_writer(tmp_path, {"a": 2}).close()
    assert raw_curve(tmp_path, "late") == []
    open_writer(tmp_path).close()
    assert raw_curve(tmp_path, "a") == []
    assert [path for path in (tmp_path / "tensorboard").rglob("*") if path.is_file()] == []


def test_a_text_stands_at_the_step_each_process_started_from(tmp_path: Path) -> None:
    for resumed_at, content in (({}, "first"), ({"a": 300}, "lost"), ({"a": 300}, "second")):
        writer = open_writer(tmp_path, resumed_at)
        writer.text("hyperparameters", content)
        writer.close()
    assert texts(tmp_path, "hyperparameters") == [(0, "    first"), (300, "    second")]


@pytest.mark.parametrize("torn", [b"\x40\0\0\0\0\0\0\0\0\0\0\0half", b"\x18", b"\0" * 64])
def test_half_an_event_at_the_end_of_a_killed_process_is_dropped(
    tmp_path: Path, torn: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    writer = open_writer(tmp_path)
    write_steps(writer, "a", range(1, 4))
    writer.close()
    (path,) = (tmp_path / "tensorboard" / "a").iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    writer = open_writer(tmp_path, {"a": 3})
    write_steps(writer, "a", range(4, 6))
    writer.close()
    assert path.read_bytes() == whole
    assert f"dropped {len(torn)} bytes" in caplog.text
    assert [step for step, _ in curve(tmp_path, "a")] == [1, 2, 3, 4, 5]


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "tensorboard" / "a"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    open_writer(tmp_path).close()
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_neither_torch_nor_tensorflow_is_needed(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from agents_core.contracts.stats import StatsWriterContext\n"
        "from agents_stats_tensorboard.config import TensorBoardConfig\n"
        "from agents_stats_tensorboard.writer import TensorBoardWriter\n"
        "context = StatsWriterContext(TensorBoardConfig(), Path(sys.argv[1]), {}, {}, quiet=True)\n"
        "writer = TensorBoardWriter(context); writer.write('a', 1, 1.0, {'x': 1.0}); writer.close()\n"
        "assert not {'torch', 'tensorflow'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=60)
    assert curve(tmp_path, "a", "x") == [(1, 1.0)]
