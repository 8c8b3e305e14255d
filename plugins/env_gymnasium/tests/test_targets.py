"""Modules and attributes that an experiment names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from agents_core.errors import UserError
from agents_env_gymnasium.targets import import_module, load


@pytest.fixture(autouse=True)
def _clean_imports() -> Iterator[None]:
    modules, path = set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_a_module_beside_the_experiment_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "task_one.py").write_text("class Reach:\n    size = 3\n")
    assert load("task_one:Reach.size", tmp_path, "environment.entry_point") == 3


def test_a_file_in_a_sub_folder_is_found_and_can_be_imported_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "task_two.py").write_text("value = 2\n")
    module = import_module("tasks/task_two.py", tmp_path, "environment.imports")
    assert module.value == 2
    assert sys.modules["task_two"] is module


def test_a_module_that_is_not_there_is_named_with_the_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"environment\.entry_point: there is no module 'nowhere_at_all'") as error:
        load("nowhere_at_all:Env", tmp_path, "environment.entry_point")
    assert str(tmp_path) in str(error.value)
    with pytest.raises(UserError, match=r"there is no file .*missing\.py"):
        load("missing.py:Env", tmp_path, "environment.entry_point")


def test_a_module_that_fails_is_told_apart_from_one_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "task_three.py").write_text("import not_installed_at_all\n")
    (tmp_path / "task_four.py").write_text("1 / 0\n")
    with pytest.raises(UserError, match=r"importing task_three failed with ModuleNotFoundError.*not_installed_at_all"):
        import_module("task_three", tmp_path, "environment.imports")
    with pytest.raises(UserError, match="importing task_four failed with ZeroDivisionError"):
        import_module("task_four", tmp_path, "environment.imports")


def test_an_attribute_that_is_not_there_gets_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "task_five.py").write_text("class Reach: ...\n")
    with pytest.raises(UserError, match=r"no attribute 'Reech' of .*task_five\.py; nearest: Reach"):
        load("task_five:Reech", tmp_path, "environment.entry_point")


def test_a_file_whose_name_is_taken_by_another_module_is_refused(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("value = 1\n")
    with pytest.raises(UserError, match="another module 'json' is loaded already"):
        import_module("json.py", tmp_path, "environment.imports")
