"""A file that is being written is never met half-written."""

from __future__ import annotations

from pathlib import Path

import pytest
from agents_core.demonstrations import DemonstrationError, written_aside


def test_the_target_has_the_old_content_until_all_of_the_new_one_is_there(tmp_path: Path) -> None:
    target = tmp_path / "new" / "file"
    with written_aside(target) as aside:
        aside.write_text("first", encoding="utf-8")
        assert not target.exists()
    with written_aside(target) as aside:
        aside.write_text("sec", encoding="utf-8")
        assert target.read_text(encoding="utf-8") == "first"
    assert [path.name for path in target.parent.iterdir()] == ["file"]
    assert target.read_text(encoding="utf-8") == "sec"


def fail(target: Path, error: BaseException) -> None:
    """Write half of the new content, and no more."""
    with written_aside(target) as aside:
        aside.write_text("sec", encoding="utf-8")
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError()])
def test_a_failure_leaves_the_old_content_and_nothing_else(tmp_path: Path, error: BaseException) -> None:
    target = tmp_path / "file"
    target.write_text("first", encoding="utf-8")
    with pytest.raises(type(error)):
        fail(target, error)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert target.read_text(encoding="utf-8") == "first"


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    with pytest.raises(DemonstrationError, match="file: cannot be written: No space left"):
        fail(tmp_path / "file", OSError(28, "No space left on device"))
    assert list(tmp_path.iterdir()) == []
